import DequeModule

/// A queue of elements from many sources in which no source can crowd out another (the scheduling of RFC 8290,
/// FQ-CoDel, without its queue limits).
///
/// A new source is served first; sources that have been served take turns after it. One of those is served after every
/// `newInRow` new ones, so that an endless supply of new sources starves none of them. A served source stays known
/// until its next turn, so leaving and coming back gives it no advantage, unless `forget` clears it.
struct FairQueue<Source: Hashable, Element> {
    private var waiting: [Source: Deque<Element>] = [:]
    private var new: Deque<Source> = []
    private var old: Deque<Source> = []
    /// New sources served since the last old one.
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
                // Its turn came, but nothing is waiting.
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

    /// Each call of `removeFirst` adds at most one served source and removes up to two that have nothing waiting, so
    /// their number stays small.
    private mutating func forgetServed() {
        for _ in 0..<2 {
            guard let source = old.first, waiting[source]?.isEmpty != false else { return }
            old.removeFirst()
            waiting[source] = nil
        }
    }

    /// Makes a source that has nothing waiting count as new.
    mutating func forget(_ source: Source) {
        // Its entry in `old` is skipped when its turn comes.
        if waiting[source]?.isEmpty == true { waiting[source] = nil }
    }

    /// Known sources, whether or not they have elements waiting.
    var sourceCount: Int { waiting.count }

    /// The largest number of elements waiting of any one source.
    var largestCount: Int { waiting.values.lazy.map(\.count).max() ?? 0 }

    /// Removes the newest element of the source with the most, so that a full queue penalises the source that filled
    /// it.
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
