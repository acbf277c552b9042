/// Something that has ended together with what was signed in with it: an account that was closed or removed, a passkey
/// or a device that was removed, or a family of refresh tokens that was ended. Stores keep it as a kind and bytes.
package struct EndedSubject: Hashable, Sendable {
    package enum Kind: Int64, Sendable, CaseIterable {
        case account = 1
        case passkey = 2
        /// ``DeviceDeparture/bytes``
        case departure = 3
        /// ``RefreshFamilyEnd/bytes``
        case family = 4

        /// It is never there again, also where its end isn't kept any more.
        package var isFinal: Bool { self == .family }
    }

    package let kind: Kind
    package let bytes: [UInt8]

    package init(_ kind: Kind, _ bytes: [UInt8]) { (self.kind, self.bytes) = (kind, bytes) }
}

extension StoreRevocations {
    mutating func note(_ ended: EndedSubject) { set(ended, isEnded: true) }

    mutating func forget(_ ended: EndedSubject) { set(ended, isEnded: false) }

    /// Of another length it is nobody's, and doesn't keep the others from being heard of.
    private mutating func set(_ ended: EndedSubject, isEnded: Bool) {
        switch ended.kind {
        case .account: accounts.set(AccountID(bytes: ended.bytes), isPresent: isEnded)
        case .passkey: passkeys.set(PasskeyMark(bytes: ended.bytes), isPresent: isEnded)
        case .departure: departures.set(DeviceDeparture(bytes: ended.bytes), isPresent: isEnded)
        case .family: families.set(RefreshFamilyEnd(bytes: ended.bytes)?.family, isPresent: isEnded)
        }
    }

    mutating func forgetEnds() {
        (accounts, passkeys, departures, families) = ([], [], [], [])
    }
}

extension Set {
    fileprivate mutating func set(_ element: Element?, isPresent: Bool) {
        guard let element else { return }
        if isPresent { insert(element) } else { remove(element) }
    }
}

/// What a gateway has heard of ends, for ``AccountLimits/endRememberedMilliseconds``. Whoever was signed in has heard
/// of it then: his sessions are closed, and no token is left. Beyond ``maximum`` those that were heard longest ago are
/// forgotten, as soon as all have been told.
package struct RememberedEnds: Sendable {
    package static let maximum = 16_384

    private struct Entry {
        let subject: EndedSubject
        let time: Int64
    }

    private var heard: [EndedSubject: Int64] = [:]
    /// In the order in which they were heard. Those before `first`, and those whose time isn't the last one, are over.
    private var entries: [Entry] = []
    private var first = 0

    package init() {}

    package var count: Int { heard.count }

    /// - Parameter time: milliseconds of any clock, the same for all calls.
    package mutating func note(_ subject: EndedSubject, at time: Int64, in revocations: inout StoreRevocations) {
        heard[subject] = time
        entries.append(Entry(subject: subject, time: time))
        revocations.note(subject)
    }

    /// It is there again.
    package mutating func forget(_ subject: EndedSubject, in revocations: inout StoreRevocations) {
        heard[subject] = nil
        revocations.forget(subject)
    }

    /// Only when all that was noted has been told.
    package mutating func forgetOld(at time: Int64, in revocations: inout StoreRevocations) {
        let end = time - AccountLimits.endRememberedMilliseconds
        while first < entries.count {
            let entry = entries[first]
            if heard[entry.subject] == entry.time {
                guard entry.time < end || heard.count > Self.maximum else { break }
                forget(entry.subject, in: &revocations)
            }
            first += 1
        }
        guard first > entries.count / 2 else { return }
        entries.removeFirst(first)
        first = 0
    }

    package mutating func forgetAll(in revocations: inout StoreRevocations) {
        self = RememberedEnds()
        revocations.forgetEnds()
    }
}
