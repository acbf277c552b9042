import WebSocketWire
import WireText

/// From the client's bytes to the handler's events, and the bounds on what they cost in a turn of the loop.
///
/// A read is processed as it arrives, up to the WebSocket's `InputShare`. The rest is held, the socket is paused, and
/// the WebSocket waits for its turn in the reactor's `InputQueue`, as often as it takes. What arrives meanwhile is held
/// behind it, so nothing is reordered.
extension WebSocketConnection {
    /// - Parameter input: decrypted bytes, unmasked in place.
    func received(_ input: UnsafeMutableRawBufferPointer) {
        cost.readFrames(input.count)
        if held != nil {
            if held?.append(input) == false { owner?.kill() }
        } else if let rest = process(input, from: InputPosition(0)) {
            held = HeldInput(input, from: rest)
            // The socket is paused at the end of the turn.
            reactor.touch(self)
        }
        reportCost()
    }

    /// Tells the handler what was read, for its rates.
    func reportCost() {
        let (octets, steps) = cost.report(frames: reader.frameCount)
        if octets > 0 || steps > 0 { handler?.webSocketWasRead(octets: octets, steps: steps) }
    }

    // MARK: Its turn

    /// Whether the WebSocket may process something more in this turn.
    private var mayGoOn: Bool {
        if let turnEnd { reactor.now < turnEnd } else { share.isLeft(in: reactor.turn) }
    }

    /// Called at the end of a turn, while input is held. Input that the handler doesn't take is inflated when it
    /// resumes reading.
    func awaitTurn() {
        guard let held, let owner, !isAwaitingTurn else { return }
        if held.position.piece != nil, wantsPause, closing.delivers { return }
        isAwaitingTurn = true
        reactor.inputs.append(self, of: owner.client.address.prefix)
    }

    /// Called by the `InputQueue`, which has removed it.
    func takeTurn(until end: UInt64) {
        isAwaitingTurn = false
        guard var input = held else { return }
        held = nil  // So that the bytes aren't copied.
        turnEnd = end
        let hasMore = input.process { process($0, from: $1) }
        turnEnd = nil
        if hasMore, wsi != nil { held = input }
        reportCost()
        // Either the socket is read again, or it waits for another turn.
        reactor.touch(self)
    }

    func leaveInputQueue() {
        held = nil
        guard isAwaitingTurn, let owner else { return }
        isAwaitingTurn = false
        reactor.inputs.remove(self, of: owner.client.address.prefix)
    }

    // MARK: Frames

    /// - Returns: where to go on later; nil: everything was processed.
    private func process(_ input: UnsafeMutableRawBufferPointer, from start: InputPosition) -> InputPosition? {
        var position = start.offset
        if let piece = start.piece {
            if let rest = inflate(piece, of: input) { return rest }
            position = piece.range.upperBound
        }
        var bytes = input.assumingMemoryBound(to: UInt8.self).mutableSpan
        while let owner, !owner.isDoomed, closing.reads, reader.hasMore(from: position, to: input.count) {
            guard mayGoOn else { return InputPosition(position) }
            guard let event = reader.next(in: &bytes, from: &position) else { return nil }
            if case .data(let piece) = event, piece.isCompressed {
                if let rest = inflate(piece, of: input) { return rest }
            } else {
                perform(event, of: input)
            }
        }
        return nil
    }

    private func perform(_ event: FrameEvent, of input: UnsafeMutableRawBufferPointer) {
        switch event {
        case .data(let piece):
            share.spend(bytes: piece.range.count)
            deliver(piece, of: input)
        case .ping(let payload):
            share.spend(bytes: 0)
            handler?.webSocketReceivedControlFrame(bytes: payload.count)
            answer(payload)
        case .pong(let payload):
            share.spend(bytes: 0)
            handler?.webSocketReceivedControlFrame(bytes: payload.count)
            handler?.webSocketHeardPong()
        case .close(let close): peerClosed(close)
        case .fault(let fault): failed(fault)
        }
    }

    private func deliver(_ piece: DataPiece, of input: UnsafeMutableRawBufferPointer) {
        guard closing.delivers else { return }
        handler?.webSocketReceived(
            MessagePiece(
                bytes: UnsafeRawBufferPointer(rebasing: input[piece.range]), isText: piece.isText,
                isFirst: piece.isFirst, isLast: piece.isLast))
    }

    private func failed(_ fault: FrameFault) {
        handler?.webSocketPeerFailed(code: fault.closeCode.rawValue)
        perform(closing.failed(fault, now: reactor.now))
    }

    // MARK: Inflating

    /// Inflates a piece and delivers it to the handler, step by step.
    ///
    /// - Returns: where to go on later; nil: the piece was inflated, or the handler gets no more.
    private func inflate(_ piece: DataPiece, of input: UnsafeMutableRawBufferPointer) -> InputPosition? {
        guard let compression else { return nil }
        let room = reactor.buffers.take(MessageCompression.stepBytes)
        defer { reactor.buffers.give(room) }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: input[piece.range])
        var position = 0
        while let owner, !owner.isDoomed, closing.delivers {
            guard mayGoOn, !wantsPause else { return InputPosition(in: piece, after: position) }
            do throws(FrameFault) {
                let before = position
                let inflated = try compression.inflate(piece, bytes, from: &position, into: room)
                let taken = position - before
                share.spend(bytes: max(inflated.count, MessageCompression.costOfInputByte * taken))
                cost.inflated(surplus: inflated.count - taken)
                if inflated.count > 0 || inflated.isLast {
                    handler?.webSocketReceived(MessagePiece(inflated, of: room))
                }
                if !inflated.hasMore { return nil }
            } catch {
                failed(error)
            }
        }
        return nil
    }
}
