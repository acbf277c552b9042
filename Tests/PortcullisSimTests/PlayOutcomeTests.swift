import Testing

@testable import portcullis_sim

/// The tool's exit status for each kind of session end.
struct PlayOutcomeTests {
    @Test(arguments: [1000, 1001])
    func `an orderly end is a success`(code: UInt16) {
        #expect(Play.outcome(ofClose: code) == .played)
    }

    @Test(arguments: [nil, 1002, 1007, 1009, 1011, 1014, 4000] as [UInt16?])
    func `any other end is a failure`(code: UInt16?) {
        #expect(Play.outcome(ofClose: code) == .broken(code: code))
    }

    @Test func `details that the library hides aren't reported`() {
        #expect(Play.words(forClose: 1002).contains("1012 to 1015"))
        #expect(Play.words(forClose: 1014) == "with 1014")
        #expect(Play.words(forClose: nil) == "without a code")
    }
}
