import Observability
import Reactors
import RelayCore

/// The target's output, translated for the client in turns.
extension Session {
    /// As much as the budget of this turn allows; the rest waits for a later turn, after the other sessions.
    func translatePending() {
        budget.begin(turn: loop.turn)
        var (steps, isUsedUp) = (0, false)
        while !isUsedUp, clientHasRoom, hasMoreToTell {
            guard budget.isLeft else { break }
            let canReply = (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes
            let before = pending.count
            translate { translation, output in
                isUsedUp = !pending.take(spare: &sessions.scratch.spare) {
                    translation.next(&$0, now: loop.now, canReply: canReply, into: &output)
                }
                steps += output.steps
                budget.spend(
                    before - pending.count + output.frames.bytes.count + output.toTarget.count, steps: output.steps)
            }
        }
        pace(0, steps: steps)
        guard budget.isLeft || isUsedUp || !clientHasRoom || !hasMoreToTell else { return awaitTurn() }
        tellEndOfTarget()
    }

    private func awaitTurn() {
        budget.isWaiting = true
        targetPauses.insert(.turn)
        sessions.await(self)
    }

    private var hasMoreToTell: Bool {
        guard let translation else { return false }
        return translation.value.isConnected && machine.acceptsFromTarget
            && (pending.count > 0 || translation.value.holdsBytes)
    }

    /// The session's turn to translate more for the client has come.
    func continueTelling() {
        budget = TurnBudget()
        targetPauses.remove(.turn)
        tellClient()
        noteClientQueue()
    }
}
