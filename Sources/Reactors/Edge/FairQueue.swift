import DequeModule

/// Elements of many sources, of which none can crowd out another: the next one comes from a source that has been served least recently,
/// and a source that was not there before comes first (the scheduling of RFC 8290, FQ-CoDel, without its deadlines).
///
/// A source that has been served stays known until its turn comes round again, so that leaving and coming back gains it nothing.
struct FairQueue<Source: Hashable, Element> {
    private var waiting: [Source: Deque<Element>] = [:]
    private var new: Deque<Source> = []
    private var old: Deque<Source> = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    func count(of source: Source) -> Int { waiting[source]?.count ?? 0 }

    mutating func append(_ element: Element, of source: Source) {
        if waiting[source] == nil { new.append(source) }
        waiting[source, default: []].append(element)
        count += 1
    }

    mutating func removeFirst() -> Element? {
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
        if let source = new.popFirst() { return (source, true) }
        return old.popFirst().map { ($0, false) }
    }

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
