import BlockingWork
import Glibc
import Relay

/// Answers tools about sessions and figures, and closes sessions for them. Safe from any thread.
///
/// It works on a thread of its own: reactors only do what must be done there, in slices.
final class InspectionDesk: Sendable {
    /// Bytes of a reason that a tool gives.
    static let maximumReasonBytes = 200

    private let server: RelayServer
    private let threads = BlockingThreads("inspection")

    init(_ server: RelayServer) {
        self.server = server
    }

    /// - Parameters:
    ///   - peer: the tool's user.
    ///   - reply: called once, on any thread.
    func answer(
        _ request: InspectionRequest, from peer: ControlPeer, _ reply: @escaping @Sendable (ControlAnswer) -> Void
    ) {
        Task(executorPreference: threads) { reply(await self.answer(request, from: peer)) }
    }

    private func answer(_ request: InspectionRequest, from peer: ControlPeer) async -> ControlAnswer {
        switch request {
        case .sessions(let query):
            guard let page = await server.sessions(query) else { return Self.malformed }
            return .inspection(.sessions(page))
        case .session(let id): return .inspection(.session(await server.session(id)))
        case .close(let selection, let reason):
            guard reason.utf8.count <= Self.maximumReasonBytes else { return Self.malformed }
            let detail = "over the control socket by \(peer)" + (reason.isEmpty ? "" : ": \(reason)")
            guard let count = await server.close(selection, detail: detail) else { return Self.malformed }
            return .inspection(.closed(count))
        case .figures: return .inspection(.figures(await server.figures()))
        }
    }

    private static var malformed: ControlAnswer { .refused(reason: "the filter, the page or the reason is malformed") }
}

/// Who is at the other end of a control connection, as the kernel says (SO_PEERCRED).
struct ControlPeer: Sendable, CustomStringConvertible {
    private let userID: UInt32?

    init(of socket: Int32) {
        // struct ucred: process, user and group, 32 bits each.
        var credentials: (UInt32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        let status = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
        userID = status == 0 ? credentials.1 : nil
    }

    var description: String { "user \(userID.map { "\($0)" } ?? "unknown")" }
}
