import Admission
import Testing

@testable import Relay

/// What a request to the internal listener has to show.
struct InternalAccessTests {
    private static let text = String(repeating: "t", count: 32)
    private let token: InternalToken

    init() throws { token = try InternalToken(Self.text) }

    private func admits(_ access: InternalAccess, bearer: String? = nil, isCertified: Bool = false) -> Bool {
        access.admits(field: nil, authorization: bearer.map { "Bearer \($0)" }, isCertified: isCertified)
    }

    @Test func `without demands everybody is admitted`() {
        let open = InternalAccess()
        #expect(!open.isLimited && admits(open) && open.mayConnect(isCertified: false))
    }

    @Test func `a token alone is demanded whatever certificate there is`() {
        let access = InternalAccess(token: token)
        #expect(access.isLimited && access.mayConnect(isCertified: false))
        #expect(!admits(access) && !admits(access, isCertified: true) && !admits(access, bearer: Self.text + "x"))
        #expect(admits(access, bearer: Self.text))
    }

    @Test func `a certificate alone is demanded, and connections without one are closed`() {
        let access = InternalAccess(acceptsCertificates: true)
        #expect(!access.mayConnect(isCertified: false) && access.mayConnect(isCertified: true))
        #expect(!admits(access) && !admits(access, bearer: Self.text) && admits(access, isCertified: true))
    }

    @Test func `of a token and a certificate either suffices`() {
        let access = InternalAccess(token: token, acceptsCertificates: true)
        #expect(access.mayConnect(isCertified: false))
        #expect(admits(access, bearer: Self.text) && admits(access, isCertified: true) && !admits(access))
    }

    @Test func `a reload opens only what nobody else reaches and nobody wanted limited`() {
        let (open, old) = (InternalAccess(), InternalAccess(token: token))
        #expect(!open.replacing(old, mustBeLimited: false).isLimited)
        #expect(open.replacing(old, mustBeLimited: true).token != nil)
        let new = InternalAccess(acceptsCertificates: true).replacing(old, mustBeLimited: true)
        #expect(new.token == nil && new.acceptsCertificates)
    }

    @Test func `refused connections get a line in ten seconds, which counts the others`() {
        let refusals = InternalRefusals()
        let interval = UInt64(InternalRefusals.intervalSeconds) * 1_000_000_000
        #expect(refusals.note(at: 5) == 0)
        for time in 5..<105 as Range<UInt64> { #expect(refusals.note(at: time) == nil) }
        #expect(refusals.note(at: 5 + interval - 1) == nil)
        #expect(refusals.note(at: 5 + interval) == 101)
        #expect(refusals.note(at: 5 + 2 * interval) == 0)
    }
}
