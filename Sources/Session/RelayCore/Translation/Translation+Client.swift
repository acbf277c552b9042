import StrictJSON
import Telnet

/// Input from the client.
extension Translation {
    /// Receives a piece of a message. Only the last piece has an effect.
    ///
    /// - Parameter canAnswer: there is room toward the client. Without it, errors and the acknowledgements of
    ///   ``ClientCommand/input(_:cid:)`` are left out: otherwise a client that sends without reading would fill its own
    ///   queue without bound. A client that misses an acknowledgement sends its input again and gets it then.
    package mutating func receive(
        _ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool, canAnswer: Bool = true,
        into output: inout TranslationOutput
    ) {
        self.canAnswer = canAnswer
        defer { self.canAnswer = true }
        guard phase != .ended, let message = gatherer.take(piece, isLast: isLast) else { return }
        guard case .complete(let bytes) = message else { return refuse(.tooLarge, into: &output) }
        do {
            let command = try dialect.command(of: bytes, isText: isText)
            guard command.size <= maximumMessageBytes else {
                return refuse(.tooLarge.answering(command), into: &output)
            }
            accept(command, into: &output)
        } catch {
            refuse(error, into: &output)
        }
    }

    private mutating func refuse(_ error: DialectError, into output: inout TranslationOutput) {
        if canAnswer { dialect.encode(error, into: &output.frames) }
        if let reason = error.close { close(reason, into: &output) }
    }

    private mutating func accept(_ command: ClientCommand, into output: inout TranslationOutput) {
        switch command {
        case .connect(let target, let description): connect(target, description, into: &output)
        case .resume(let request): resume(request, into: &output)
        case .disconnect: close(.clientDisconnected, into: &output)
        case .nothing(.no): break
        case .acknowledge, .nothing(.yes), .input, .gmcp, .msdp, .resize, .describe:
            acceptForSession(command, into: &output)
        }
    }

    private mutating func connect(
        _ target: TargetRequest, _ description: ClientDescription, into output: inout TranslationOutput
    ) {
        guard phase == .idle else { return refuse(.alreadyConnected, into: &output) }
        client.merge(description)
        phase = .dialing
        output.orders.append(.dial(target))
    }

    private mutating func resume(_ request: ResumeRequest, into output: inout TranslationOutput) {
        guard outputBufferBytes > 0 else { return refuse(.sessionExpired, into: &output) }
        guard phase == .idle else { return refuse(.alreadyConnected, into: &output) }
        phase = .resuming
        output.orders.append(.resume(request))
    }

    private mutating func acceptForSession(_ command: ClientCommand, into output: inout TranslationOutput) {
        guard phase == .dialing || phase == .connected else {
            return refuse(.noSession.answering(command), into: &output)
        }
        // This applies to every dialect: no client may send the gateway's own messages to a target.
        if case .gmcp(let name, _) = command, OutOfBand.isOwn(name) { return refuse(.own(name), into: &output) }
        if case .input(_, let cid?) = command {
            guard inputs.contains(cid) || apply(command, into: &output) else { return }
            inputs.insert(cid)
            if canAnswer { dialect.encode(inputAck: cid, into: &output.frames) }
        } else {
            _ = apply(command, into: &output)
        }
    }

    /// - Returns: whether the command is carried out, now or later. Otherwise the client has been told the reason.
    private mutating func apply(_ command: ClientCommand, into output: inout TranslationOutput) -> Bool {
        // Answer the target's earlier requests first.
        reply(into: &output)
        if let description = command.description { describe(description) }
        var isTaken = phase == .connected ? carryOut(command, into: &output) : !command.isForTarget
        if !isTaken {
            isTaken = waiting.append(command)
            let error: DialectError = phase == .dialing ? .tooEarly : .notInForce
            if !isTaken { refuse(error.answering(command), into: &output) }
        }
        reply(into: &output)
        return isTaken
    }

    /// Passed to the target by telnet as soon as there is a target.
    private mutating func describe(_ description: ClientDescription) {
        client.merge(description)
        if let columns = description.columns, let rows = description.rows {
            telnet?.resize(columns: columns, rows: rows)
        } else {
            telnet?.describe(
                clientName: description.name, version: description.version, terminalType: description.terminalType)
        }
    }

    // MARK: To the target

    /// Carries out the commands in order. A command whose option still isn't in force keeps waiting.
    mutating func carryOutWaiting(into output: inout TranslationOutput) {
        for command in waiting.takeAll() where !carryOut(command, into: &output) {
            _ = waiting.append(command)
        }
    }

    /// - Returns: false if the target hasn't agreed to the option that the command needs.
    private mutating func carryOut(_ command: ClientCommand, into output: inout TranslationOutput) -> Bool {
        switch command {
        case .input(let text, _): telnet?.appendInput(text, to: &output.toTarget)
        case .gmcp(let name, let data): return telnet?.appendGMCP(name: name, data: data, to: &output.toTarget) ?? false
        case .msdp(let name, let value):
            return telnet?.appendMSDP(name: name, value: value, to: &output.toTarget) ?? false
        case .acknowledge(let session, let lastSeq):
            if session.elementsEqual(sessionID.utf8) { history.acknowledge(through: lastSeq) }
        case .resize, .describe, .connect, .resume, .disconnect, .nothing: break
        }
        return true
    }
}

extension ClientCommand {
    fileprivate var isForTarget: Bool {
        switch self {
        case .input, .gmcp, .msdp: true
        case .acknowledge, .resize, .describe, .connect, .resume, .disconnect, .nothing: false
        }
    }

    /// The client's description in this command. A client that greets the target over GMCP has identified itself there.
    fileprivate var description: ClientDescription? {
        switch self {
        case .resize(let columns, let rows): return ClientDescription(columns: columns, rows: rows)
        case .describe(let description): return description
        case .gmcp("Core.Hello", let data):
            guard case .object(let hello)? = try? JSONReader.read(data[...]) else { return nil }
            return ClientDescription(name: hello.text("client"), version: hello.text("version"))
        default: return nil
        }
    }
}
