import Telnet
import Testing

@testable import RelayCore

/// Which messages must not be compressed: those with a token or a ticket, and no others.
@Suite struct SecretMessagesTests {
    private static let secret = "5ec2e7"
    private static let session = SessionIdentity(id: "id", token: secret)

    private func write(_ type: any ResumableDialect.Type) -> FrameBuffer {
        let dialect = type.init(compressor: Stored())
        var frames = FrameBuffer()
        var history = SessionHistory(numbering: type.numbering ?? .messages, maximumBytes: 10_000)
        dialect.sessionBegan(Self.session, isResumable: true, into: &frames)
        dialect.encode(ticket: Self.secret, expiresIn: 30, into: &frames)
        var encoder = dialect
        encoder.encode(.text(Array("You see nothing.".utf8)[...]), keeping: &history, into: &frames)
        encoder.encode(.prompt, keeping: &history, into: &frames)
        encoder.encode(.echo(isSuppressed: true), keeping: &history, into: &frames)
        dialect.sessionResumed(Self.session, history, after: 0, into: &frames)
        dialect.encode(DialectError(.invalidRequest, "wrong"), into: &frames)
        dialect.encode(reconnectAfterMilliseconds: 1, into: &frames)
        dialect.sessionEnded("id", into: &frames)
        return frames
    }

    @Test func `messages with a token or a ticket are marked, and no others`() {
        for dialect: any ResumableDialect.Type in [TypedDialect.self, GMCPDialect.self, JSONDialect.self] {
            let written = write(dialect)
            for frame in written.frames {
                let text = String(decoding: written.bytes[frame.range], as: UTF8.self)
                #expect(frame.isSecret == text.contains(Self.secret), "\(text)")
            }
            #expect(written.frames.count(where: \.isSecret) == 3)
        }
    }
}
