/// The options that a client accepts, and its actions when they come into force and when subnegotiations arrive.
extension TelnetClient {
    /// Everything else is refused once. That includes LINEMODE, since players' clients send lines.
    static func negotiation(mxp: MXPMode, compresses: Bool) -> OptionNegotiation {
        var local: Set<TelnetOption> = [
            .binary, .suppressGoAhead, .terminalType, .windowSize, .newEnvironment, .charset,
        ]
        var remote: Set<TelnetOption> = [
            .binary, .echo, .suppressGoAhead, .endOfRecord, .charset, .msdp, .mssp,
        ]
        // Targets differ in which side offers these options.
        var either: Set<TelnetOption> = [.gmcp, .atcp]
        if mxp != .refuse { either.insert(.mxp) }
        if compresses { remote.insert(.mccp2) }
        local.formUnion(either)
        remote.formUnion(either)
        return OptionNegotiation(acceptingLocal: local, remote: remote)
    }

    func isInForce(_ option: TelnetOption) -> Bool {
        negotiation.isOn(option, .local) || negotiation.isOn(option, .remote)
    }

    mutating func negotiated(_ verb: TelnetVerb, _ option: TelnetOption) -> TargetEvent? {
        negotiates = true
        // A state may change only if there is room to tell the target.
        guard replies.hasRoom(for: 3) else { return nil }
        let wasInForce = isInForce(option)
        let step = negotiation.received(verb, option)
        if let reply = step.reply {
            var bytes: [UInt8] = []
            TelnetEncoder.appendNegotiation(reply, option, to: &bytes)
            replies.append(bytes)
        }
        guard let isOn = step.change else { return nil }
        if option == .echo { return .echo(isSuppressed: isOn) }
        if isInForce(option) == wasInForce { return nil }
        return isOn ? begin(option) : end(option)
    }

    private mutating func begin(_ option: TelnetOption) -> TargetEvent? {
        switch option {
        case .windowSize:
            windowSize.begin()
        case .gmcp where settings.greetsGMCP:
            replies.appendSubnegotiation(.gmcp, GMCP.hello(identity))
            replies.appendSubnegotiation(.gmcp, GMCP.supports(settings.gmcpPackages))
        case .atcp:
            replies.appendSubnegotiation(.atcp, ATCP.hello(identity))
        case .mxp where settings.mxp == .strip:
            stripper = MXPStripper()
        default:
            break
        }
        return nil
    }

    private mutating func end(_ option: TelnetOption) -> TargetEvent? {
        switch option {
        case .windowSize:
            windowSize.end()
        case .terminalType:
            terminalType.restart()
        case .newEnvironment:
            isEnvironmentAnnouncementDue = false
        case .mxp:
            let text = flushText()
            stripper = nil
            return textEvent(text)
        default:
            break
        }
        return nil
    }

    mutating func subnegotiated(_ option: TelnetOption, _ payload: [UInt8]) -> TargetEvent? {
        guard isInForce(option) else { return nil }
        switch option {
        case .gmcp: return GMCP.event(of: payload)
        case .atcp: return ATCP.event(of: payload)
        case .mssp:
            let variables = MSSP.variables(in: payload)
            return variables.isEmpty ? nil : .mssp(variables)
        case .terminalType:
            let mtts = MTTS.client(encoding: encoding, isSecure: settings.isSecure)
            answer(option, terminalType.answer(to: payload, identity, mtts: mtts))
        case .newEnvironment:
            answer(option, NewEnvironment.answer(to: payload, environment))
        case .charset:
            guard let choice = Charset.answer(to: payload, tables: settings.tables),
                replies.hasRoom(for: choice.payload.count + 5)
            else {
                return nil
            }
            answer(option, choice.payload)
            return choice.encoding.flatMap { change(to: $0) }
        default:
            break
        }
        return nil
    }

    private mutating func answer(_ option: TelnetOption, _ payload: [UInt8]?) {
        if let payload { replies.appendSubnegotiation(option, payload) }
    }

    /// The variables of the Mud New-Environment Standard.
    var environment: [NewEnvironment.Variable] {
        let mtts = MTTS.client(encoding: encoding, isSecure: settings.isSecure)
        var variables = [
            NewEnvironment.Variable(name: "CHARSET", value: encoding.charsetName),
            NewEnvironment.Variable(name: "CLIENT_NAME", value: identity.name),
            NewEnvironment.Variable(name: "CLIENT_VERSION", value: identity.version),
            NewEnvironment.Variable(name: "MTTS", value: String(mtts.rawValue)),
            NewEnvironment.Variable(name: "TERMINAL_TYPE", value: identity.terminalType),
        ]
        if let address = settings.address {
            variables.append(NewEnvironment.Variable(name: "IPADDRESS", value: address))
        }
        return variables
    }
}
