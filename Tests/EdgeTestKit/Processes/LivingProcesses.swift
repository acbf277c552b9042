import Glibc
import Synchronization

/// The processes that tests have started and that have not ended.
///
/// Each one is killed with the last reference to it. When the test process exits, some references may still be alive,
/// for instance in a task that nobody awaits: then `atexit` kills what is left, in the thread that exits.
package enum LivingProcesses {
    private static let numbers = {
        atexit { LivingProcesses.killAll() }
        return Mutex<Set<Int32>>([])
    }()

    package static func add(_ process: Int32) { numbers.withLock { _ = $0.insert(process) } }

    /// The number may belong to another process from now on.
    package static func remove(_ process: Int32) { numbers.withLock { _ = $0.remove(process) } }

    private static func killAll() {
        numbers.withLock { for process in $0 { kill(process, SIGKILL) } }
    }
}
