import HTTPWire
import Testing

struct RequestDefectTests {
    @Test(arguments: Defects.all)
    func `is refused at its first wrong byte, however it is split`(defect: Defect) throws {
        let halves = defect.halves
        try #require(halves.count == 2 && !halves[1].isEmpty)
        #expect(Transcript([halves[0][...]]).fault == nil, "refused too early")
        let first = halves[0] + halves[1].prefix(1)
        #expect(Transcript([first[...]]).fault == defect.fault)
        let bytes = halves[0] + halves[1]
        for pieces in splits(of: bytes) { #expect(Transcript(pieces).fault == defect.fault) }
    }

    /// The limits are in `RequestLimitTests`.
    @Test func `there is a defect for every fault`() {
        let all = Defects.all
        let limits: Set<RequestFault> = [
            .methodTooLong, .requestLineTooLong, .tooManyFields, .fieldTooLong, .headerTooLarge, .trailersTooLarge,
            .chunkLineTooLong, .chunkExtensionsTooLong,
        ]
        #expect(Set(all.map(\.fault)).union(limits).union([.lengthRequired]) == Set(RequestFault.allCases))
        #expect(Set(all.map(\.name)).count == all.count)
    }

    @Test(arguments: RequestFault.allCases) func `a fault has a status and a detail of its own`(fault: RequestFault) {
        #expect([400, 411, 413, 414, 417, 431, 501, 505].contains(fault.status.code))
        #expect(RequestFault.allCases.filter { $0.detail == fault.detail } == [fault])
    }

    @Test func `each defect gets the status of its fault`() {
        let statuses = Dictionary(grouping: RequestFault.allCases, by: \.status.code).mapValues { Set($0) }
        #expect(statuses[411] == [.lengthRequired])
        #expect(statuses[413] == [.bodyTooLarge])
        #expect(statuses[414] == [.requestLineTooLong])
        #expect(statuses[417] == [.expectationFailed])
        #expect(statuses[431] == [.tooManyFields, .fieldTooLong, .headerTooLarge, .trailersTooLarge])
        #expect(statuses[501] == [.methodTooLong, .transferEncodingUnsupported])
        #expect(statuses[505] == [.versionNotSupported])
        #expect(statuses.count == 8)
    }
}
