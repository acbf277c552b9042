import Admission
import Reactors
import RelayCore

/// What of a session outlives its WebSocket, on its way from the driver that had it to the one whose client resumes it.
///
/// - Note: `@unchecked Sendable` because exactly one side has it at any time: the driver that makes one keeps nothing of it, and a job
///   carries it over.
struct SurvivingSession: @unchecked Sendable {
    let place: SessionDirectory.Register.Place
    let machine: SessionStateMachine
    let translation: Translation
    let pending: PendingInput
    let endOfTarget: EndOfTarget?
    let deadlines: SessionDeadlines
    let targetPauses: ReadingPauses
    /// Nil where the target has ended already.
    let leg: MovingLeg?
    let lastTarget: AuthorizedTarget?
    /// The session's name in the log so far.
    let logName: String
}
