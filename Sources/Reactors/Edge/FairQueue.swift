import DequeModule

/// Elements of many sources, of which none can crowd out another (the scheduling of RFC 8290, FQ-CoDel, without its queue limits).
///
/// A source that was not there before comes first; sources that have been served take turns behind it. Of those one is served after each
/// `newInRow` new ones, so that an endless supply of new sources keeps nobody waiting either. A source that has been served stays known until
/// its turn comes round again, so that leaving and coming back gains it nothing, unless `forget` says that it has earned it.
struct FairQueue<Source: Hashable, Element> {
    private var waiting: [Source: Deque<Element>] = [:]
    private var new: Deque<Source> = []
    private var old: Deque<Source> = []
    /// Since an old one was served.
    private var newServed = 0
    static var newInRow: Int { 4 }
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    func count(of source: Source) -> Int { waiting[source]?.count ?? 0 }

    mutating func append(_ element: Element, of source: Source) {
        if waiting[source] == nil { new.append(source) }
        waiting[source, default: []].append(element)
        count += 1
    }

    mutating func removeFirst() -> Element? {
        forgetServed()
        while let (source, wasNew) = removeFirstSource() {
            guard let element = waiting[source]?.popFirst() else {
                // Its turn came round, and nothing waits.
                waiting[source] = nil
                continue
            }
            count -= 1
            if wasNew || waiting[source]?.isEmpty == false {
                old.append(source)
            } else {
                waiting[source] = nil
            }
            return element
        }
        return nil
    }

    private mutating func removeFirstSource() -> (Source, wasNew: Bool)? {
        if newServed < Self.newInRow || old.isEmpty, let source = new.popFirst() {
            newServed += 1
            return (source, true)
        }
        newServed = 0
        return old.popFirst().map { ($0, false) }
    }

    /// Each call leaves at most one served source behind, and takes up to two away that have nothing waiting: so there are never many.
    private mutating func forgetServed() {
        for _ in 0..<2 {
            guard let source = old.first, waiting[source]?.isEmpty != false else { return }
            old.removeFirst()
            waiting[source] = nil
        }
    }

    /// Treats a source that has nothing waiting like one that was never there.
    mutating func forget(_ source: Source) {
        // Its place in `old` is skipped when its turn comes.
        if waiting[source]?.isEmpty == true { waiting[source] = nil }
    }

    /// Sources that are known, whether or not they have anything waiting.
    var sourceCount: Int { waiting.count }

    /// How much the source with most has waiting.
    var largestCount: Int { waiting.values.lazy.map(\.count).max() ?? 0 }

    /// The newest element of the source that has most, so that a full queue costs the one who filled it.
    mutating func removeNewestOfLargest() -> Element? {
        guard let source = waiting.max(by: { $0.value.count < $1.value.count })?.key,
            let element = waiting[source]?.popLast()
        else { return nil }
        count -= 1
        return element
    }

    mutating func remove(of source: Source, where isIt: (Element) -> Bool) {
        guard let index = waiting[source]?.firstIndex(where: isIt) else { return }
        waiting[source]?.remove(at: index)
        count -= 1
    }

    func forEach(_ body: (Element) -> Void) {
        for elements in waiting.values { elements.forEach(body) }
    }
}
