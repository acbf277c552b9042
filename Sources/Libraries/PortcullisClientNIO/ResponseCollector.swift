import Foundation
import NIOCore
import NIOHTTP1
import PortcullisClient

/// Sends one request when it is added to its pipeline, and collects the answer up to a limit. Confined to its event
/// loop.
final class ResponseCollector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let body: [UInt8]?
    private let maximumBytes: Int
    private let outcome: Outcome<GateResponse>
    private var answer: HTTPResponseHead?
    private var received: [UInt8] = []

    init(_ head: HTTPRequestHead, body: [UInt8]?, maximumBytes: Int, _ outcome: Outcome<GateResponse>) {
        (self.head, self.body, self.maximumBytes, self.outcome) = (head, body, maximumBytes, outcome)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if let body { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): answer = head
        case .body(let part):
            guard received.count + part.readableBytes <= maximumBytes else {
                return fail(AnswerFault.bodyTooLarge, context)
            }
            received += part.readableBytesView
        case .end: finish(context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let answer else { return fail(NetworkProblem.connectionLost, context) }
        let headers = HeaderFields(answer.headers.map { ($0.name, $0.value) })
        outcome.succeed(GateResponse(status: Int(answer.status.code), headers: headers, body: Data(received)))
        context.close(promise: nil)
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        outcome.fail(error)
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as HTTPParserError where error == .headerOverflow: fail(AnswerFault.header("too long"), context)
        // The connection ended in the middle of the answer.
        case let error as HTTPParserError where error == .invalidEOFState: fail(NetworkProblem.connectionLost, context)
        case is HTTPParserError: fail(AnswerFault.header("malformed"), context)
        default: fail(error, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(NetworkProblem.connectionLost, context)
        context.fireChannelInactive()
    }
}
