import CLibuv

@testable import Reactors

/// Occupies all threads of libuv's pool until `release`. Work submitted meanwhile waits, as with an unresponsive name
/// server.
struct OccupiedThreadPool {
    private final class Gate: Sendable {
        let begun = Semaphore()
        let mayEnd = Semaphore()
    }

    private let gate = Gate()

    init(by reactor: Reactor) async {
        let gate = gate
        await reactor.run {
            for _ in 0..<LookupThreads.count {
                let request = UnsafeMutablePointer<uv_work_t>.allocate(capacity: 1)
                request.pointee.data = Unmanaged.passRetained(gate).toOpaque()
                uv_queue_work(
                    reactor.loop, request,
                    { request in
                        let gate = Unmanaged<Gate>.fromOpaque(request!.pointee.data).takeUnretainedValue()
                        gate.begun.post()
                        gate.mayEnd.wait()
                    },
                    { request, _ in
                        Unmanaged<Gate>.fromOpaque(request!.pointee.data).release()
                        request?.deallocate()
                    })
            }
        }
        for _ in 0..<LookupThreads.count { gate.begun.wait() }
    }

    func release() {
        for _ in 0..<LookupThreads.count { gate.mayEnd.post() }
    }
}
