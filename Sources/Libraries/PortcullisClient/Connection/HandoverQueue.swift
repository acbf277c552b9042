/// Hands elements from several tasks to one, in order. A task that pushes waits while too much is queued.
final class HandoverQueue<Element: Sendable>: Sendable {
    private struct State {
        /// The first `taken` were handed over.
        var elements: [(element: Element, cost: Int)] = []
        var taken = 0
        var cost = 0
        var isFinished = false
        var consumer: CheckedContinuation<Element?, Never>?
        var producers: [CheckedContinuation<Void, Never>] = []

        var count: Int { elements.count - taken }

        mutating func takeFirst() -> Element? {
            guard count > 0 else { return nil }
            let (element, cost) = elements[taken]
            self.cost -= cost
            taken += 1
            if taken == elements.count || taken > 1_024 {
                elements.removeFirst(taken)
                taken = 0
            }
            return element
        }
    }

    private let maximumCount, maximumCost: Int
    private let state = Locked(State())

    /// - Parameters:
    ///   - maximumCount: of queued elements, for ``push(_:cost:)``.
    ///   - maximumCost: of all of them together; one element may be larger.
    init(maximumCount: Int = .max, maximumCost: Int = .max) {
        (self.maximumCount, self.maximumCost) = (maximumCount, maximumCost)
    }

    /// Queues an element at once, whatever is queued already: for elements whose number is limited elsewhere.
    func post(_ element: Element, cost: Int = 0) {
        let consumer: CheckedContinuation<Element?, Never>? = state.withLock { state in
            guard !state.isFinished else { return nil }
            if let consumer = state.consumer {
                state.consumer = nil
                return consumer
            }
            state.elements.append((element, cost))
            state.cost += cost
            return nil
        }
        consumer?.resume(returning: element)
    }

    /// Queues an element unless there is one.
    func postOnce(_ element: Element) {
        if state.withLock({ $0.count == 0 }) { post(element) }
    }

    /// Queues an element, and waits until there is room for the next one.
    func push(_ element: Element, cost: Int) async {
        post(element, cost: cost)
        guard !hasRoom else { return }
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.isFinished || hasRoom(state) { return true }
                state.producers.append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
    }

    /// Whether ``push(_:cost:)`` wouldn't wait.
    var hasRoom: Bool { state.withLock { $0.isFinished || hasRoom($0) } }

    private func hasRoom(_ state: State) -> Bool { state.count < maximumCount && state.cost < maximumCost }

    /// The next element; nil after the end, or when the waiting task is cancelled. For one task at a time.
    func next() async -> Element? {
        if let element = takeNow() { return element }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Something may have come meanwhile.
                if let element = takeNow() { return continuation.resume(returning: element) }
                let waits = state.withLock { state in
                    guard state.count == 0, !state.isFinished, !Task.isCancelled, state.consumer == nil else {
                        return false
                    }
                    state.consumer = continuation
                    return true
                }
                if !waits { continuation.resume(returning: takeNow()) }
            }
        } onCancel: {
            release()
        }
    }

    private func takeNow() -> Element? {
        let (element, producers) = state.withLock { state -> (Element?, [CheckedContinuation<Void, Never>]) in
            let element = state.takeFirst()
            guard hasRoom(state), !state.producers.isEmpty else { return (element, []) }
            defer { state.producers = [] }
            return (element, state.producers)
        }
        for producer in producers { producer.resume() }
        return element
    }

    private func release() {
        let consumer = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume(returning: nil)
    }

    /// What is queued can still be taken; nothing more is accepted.
    func finish() {
        let (consumer, producers) = state.withLock { state in
            state.isFinished = true
            defer { (state.consumer, state.producers) = (nil, []) }
            return (state.consumer, state.producers)
        }
        consumer?.resume(returning: nil)
        for producer in producers { producer.resume() }
    }
}
