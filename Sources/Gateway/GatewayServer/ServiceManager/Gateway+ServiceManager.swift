import BlockingWork
import Reactors
import Settings

/// What the gateway's service manager hears at each turn of its life.
extension Gateway {
    private var servingStatus: String { "Serving \(address)" }

    /// All listeners are open, and signals are handled.
    func reportReady() {
        manager.tell(.ready, .status(servingStatus))
    }

    func reportReload() {
        manager.tell(.reloading(monotonicMicroseconds: Reactor.monotonicNow / 1000), .status("Reloading"))
    }

    /// A refused reload leaves the gateway ready, too: the old settings stay.
    func report(_ outcome: ReloadOutcome) {
        switch outcome {
        case .applied: manager.tell(.ready, .status(servingStatus))
        case .refused(let errors):
            manager.tell(
                .ready, .status("\(servingStatus). The last reload was refused: \(errors.first ?? "see the log")"))
        }
    }

    func reportDrain() {
        manager.tell(.stopping, .status("Draining: sessions may end by themselves"))
    }

    /// Nil: nobody watches. The task ends when it is cancelled, and a reactor that hangs doesn't delay anybody else.
    func startWatchdog() -> Task<Void, Never>? {
        manager.watchdogInterval.map { interval in
            let watchdog = ReactorWatchdog(reactors: pool.reactors, interval: interval) { [manager] in
                manager.tell(.watchdog)
            }
            return Task(executorPreference: BlockingThreads("watchdog")) { await watchdog.run() }
        }
    }
}
