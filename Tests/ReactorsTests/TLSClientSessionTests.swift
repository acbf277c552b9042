import COpenSSL
import Testing

@testable import Reactors

/// The client side of TLS alone, without a connection.
struct TLSClientSessionTests {
    private final class Sink: TLSRecordSink {
        var records: [UInt8] = []

        func tlsWrites(_ records: UnsafeRawBufferPointer) { self.records += records }
    }

    private func clientHello(to host: String) throws -> String {
        let sink = Sink()
        let session = try TLSClientEngine(.test(), host: host, sink: sink, buffers: BufferPool())
        #expect(session.handshake() == .underWay)
        return String(decoding: sink.records, as: Unicode.ASCII.self)
    }

    @Test func `a name is sent without the root's dot, an address not at all`() throws {
        #expect(try clientHello(to: "mud.example").contains("mud.example"))
        #expect(try clientHello(to: "mud.example.").contains("mud.example"))
        #expect(try !clientHello(to: "mud.example.").contains("mud.example."))
        #expect(try !clientHello(to: "192.0.2.77").contains("192.0.2.77"))
        #expect(try !clientHello(to: "2001:db8::77").contains("2001:db8::77"))
    }

    @Test(arguments: ["", ".", String(repeating: "a", count: 256)])
    func `an invalid name fails instead of starting a handshake without SNI`(host: String) {
        #expect(throws: TargetTLSFailure.self) {
            _ = try TLSClientEngine(.test(), host: host, sink: Sink(), buffers: BufferPool())
        }
    }

    @Test func `any other input instead of a handshake is a failure`() throws {
        var generator = SeededGenerator(seed: 12)
        for length in 0..<300 {
            let sink = Sink()
            let session = try TLSClientEngine(.test(), host: "mud.example", sink: sink, buffers: BufferPool())
            #expect(session.handshake() == .underWay)
            let body = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let record = [22, 3, 3, UInt8(length >> 8), UInt8(length & 255)] + body
            var outcome = TLSClientEngine.Handshake.underWay
            for byte in record {
                withUnsafeBytes(of: byte) { session.take($0) { outcome = session.handshake() } }
            }
            #expect(outcome != .done)
        }
    }
}
