import BlockingWork
import KeyStore
import Logging
import Observability
import Synchronization

/// Polls the store for revocations by any process, to close their sessions, and for changed signing keys. The store
/// uses its own thread.
final class RevocationWatcher: Sendable {
    private let revocations: any RevocationSource
    private let alarm: Alarm
    private let logger: Logger
    private let changed: @Sendable (StoreRevocations) async -> Void
    private let state = Mutex(State())

    private struct State {
        /// The revocations at the last look.
        var known = StoreRevocations()
        /// The last revocations whose sessions have been closed.
        var applied = StoreRevocations()
        /// The last look failed and was logged.
        var isFailing = false
        /// Looks are numbered from 1.
        var begun: UInt64 = 0
        /// The last look that didn't fail, and has closed the sessions of what it found.
        var finished: UInt64 = 0
    }

    /// - Parameters:
    ///   - changed: receives all revocations after every change of the store: a key may have been restored and revoked
    ///     again since the last look.
    ///   - alarm: has it look at once.
    init(
        _ revocations: any RevocationSource, alarm: Alarm = Alarm(), logger: Logger,
        changed: @escaping @Sendable (StoreRevocations) async -> Void
    ) {
        self.revocations = revocations
        self.alarm = alarm
        self.logger = logger
        self.changed = changed
    }

    /// Runs until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            await lookOnce()
            await alarm.pause(atMost: longestPause)
        }
    }

    private var longestPause: Duration {
        let pause = revocations.longestPause
        return state.withLock { $0.isFailing } ? min(Self.pauseAfterFailure, pause) : pause
    }

    /// What a fleet's gateway remembers of the store is good for 2 s after a look (``Standings``).
    private static let pauseAfterFailure: Duration = .milliseconds(500)

    /// The first look is made before the gateway says that it serves: what it has asked a fleet's store before is
    /// forgotten with it.
    func lookOnce() async {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        if let revocations = await look() {
            await changed(revocations)
            state.withLock { $0.applied = revocations }
        }
        state.withLock { if !$0.isFailing { $0.finished = number } }
    }

    /// Returns when a look has closed the sessions of all that was revoked before this call, or with false after
    /// `limit`.
    func hasLooked(within limit: Duration) async -> Bool {
        let (begun, end) = (state.withLock { $0.begun }, ContinuousClock.now + limit)
        alarm.ring()
        while state.withLock({ $0.finished }) <= begun {
            guard ContinuousClock.now < end else { return false }
            try? await Task.sleep(for: Self.pollInterval)
        }
        return true
    }

    private static let pollInterval: Duration = .milliseconds(10)

    /// If the store can't be read now, the next look reads it; nothing is lost.
    private func look() async -> StoreRevocations? {
        do throws(KeyRegistryError) {
            let found = try await revocations.ifChanged()
            state.withLock { state in
                state.known = found ?? state.known
                state.isFailing = false
            }
            return found
        } catch {
            let isNews = state.withLock { state in
                defer { state.isFailing = true }
                return !state.isFailing
            }
            if isNews { logger.error("revocations can't be looked up", metadata: [LogKeys.error: "\(error)"]) }
            return nil
        }
    }

    /// Whether the last look found the key revoked.
    func hasNoticed(_ key: KeyID) -> Bool {
        state.withLock { $0.known.keys.contains(key) }
    }

    /// Whether the last look found the development token revoked, and its sessions have been closed.
    func hasNoticed(grant id: String) -> Bool {
        state.withLock { $0.applied.grants.contains(id) }
    }

    /// Whether the last look found that the account has ended, and its sessions have been closed.
    func hasNoticed(account id: AccountID) -> Bool {
        state.withLock { $0.applied.accounts.contains(id) }
    }

    /// Whether the last look found the signing key revoked, and its sessions have been closed.
    func hasNoticed(signingKey id: String) -> Bool {
        state.withLock { $0.applied.signingKeys.revoked.contains { $0.id == id } }
    }
}

/// The gateway's own watcher, which is made after the parts that wait for it.
final class OwnRevocationWatcher: Sendable {
    private let watcher = Mutex<RevocationWatcher?>(nil)

    func set(_ watcher: RevocationWatcher?) { self.watcher.withLock { $0 = watcher } }

    /// As ``RevocationWatcher/hasLooked(within:)``.
    func hasLooked(within limit: Duration) async -> Bool {
        await watcher.withLock { $0 }?.hasLooked(within: limit) ?? false
    }
}
