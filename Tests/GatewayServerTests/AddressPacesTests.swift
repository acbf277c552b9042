import Admission
import Relay
import Testing
import WireText

struct AddressPacesTests {
    private let begin: UInt64 = 1_000_000_000_000
    private let prefix = IPAddress(ipv4: (192, 0, 2, 1)).prefix
    private let other = IPAddress(ipv4: (192, 0, 2, 2)).prefix

    @Test func `an address is kept as long as it has sessions`() {
        let paces = AddressPaces(perSecond: 10)
        var shares = [paces.join(prefix), paces.join(prefix), paces.join(other)]
        #expect(paces.count == 2)
        shares.removeFirst()
        #expect(paces.count == 2)
        shares.removeFirst()
        #expect(paces.count == 1)
        shares.removeFirst()
        #expect(paces.count == 0)
    }

    @Test func `the sessions of an address share its budget, and those of another have their own`() {
        let paces = AddressPaces(perSecond: 10)
        let (first, second, elsewhere) = (paces.join(prefix), paces.join(prefix), paces.join(other))
        for _ in 0..<100 { _ = first.spend(now: begin) }
        #expect(first.readableAt(begin) != nil)
        #expect(elsewhere.spend(now: begin) == nil)
        // Its share is five; the rest waits for the budget.
        for _ in 0..<5 { #expect(second.spend(now: begin) == nil) }
        #expect(second.spend(now: begin) != nil)
    }

    @Test func `a reload's rate applies to existing and new sessions`() {
        let rate = Current<Int?>(nil)
        let paces = AddressPaces(perSecond: rate.now)
        let share = paces.join(prefix)
        for _ in 0..<100 { #expect(share.spend(now: begin) == nil) }
        rate.replace(with: 1)
        _ = share.spend(now: begin)
        #expect(share.spend(now: begin) != nil)
        let later = paces.join(other)
        _ = later.spend(now: begin)
        #expect(later.spend(now: begin) != nil)
        rate.replace(with: nil)
        #expect(share.readableAt(begin) == nil && later.readableAt(begin) == nil)
    }
}
