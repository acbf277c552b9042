import Foundation
import Synchronization

/// Runs `body` on `count` threads that start together, and returns all results.
func race<Result: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) -> Result) -> [Result] {
    let gathered = Gathered<Result>()
    let starting = DispatchSemaphore(value: 0)
    let finished = DispatchGroup()
    for index in 0..<count {
        finished.enter()
        let thread = Thread {
            starting.wait()
            gathered.add(body(index))
            finished.leave()
        }
        thread.start()
    }
    for _ in 0..<count { starting.signal() }
    finished.wait()
    return gathered.all
}

/// Results collected from several threads or a callback.
final class Gathered<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func add(_ element: Element) { elements.withLock { $0.append(element) } }

    var all: [Element] { elements.withLock { $0 } }
}
