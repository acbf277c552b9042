import StrictJSON
import Telnet
import WireText

@testable import RelayCore

/// Clients' messages in every dialect, what names a target, and what a client says about itself.
let dialectPlaces = places {
    typed
    enveloped
    legacy
    gmcp
    translated.flatMap(whole)
    targets
    json("a client's JSON", in: #"{"$":["$"]}"#) { use(try? JSONReader.read($0[...])) }
    bytes("a client's JSON of hostile bytes") { use(try? JSONReader.read($0[...])) }
    json("the first message", in: #"{"$":"$"}"#, choose)
    json("the first message's type", in: #"{"type":"$"}"#, choose)
    json("the first message's connect", in: #"{"connect":"$"}"#, choose)
    bytes("a first message of hostile bytes", choose)
    text("a subprotocol", spelled: [.field]) { use(DialectKind(subprotocol: $0)) }
    text("a dialect's name") { use(DialectKind(word: $0)) }
    text("a client's description") { text in use(ClientDescription { _ in text }) }
    text("a resume in a query") { text in use(ResumeRequest { _ in text }) }
}

private let identity = SessionIdentity(
    id: "3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1", token: String(repeating: "0123456789abcdef", count: 4))

private struct NoCompressor: FrameCompressor {
    func compress(_ bytes: [UInt8]) -> [UInt8]? { nil }
}

private struct NoTranslation: Error {}

/// A client of the dialect, with a target that agrees to everything.
///
/// - Parameter isConnected: false: its first message is still to come.
private func translation(_ kind: DialectKind, isConnected: Bool = true) throws -> Translation {
    var output = TranslationOutput()
    guard
        var translation = Translation(
            kind: kind, client: ClientDescription(), maximumMessageBytes: 65_536, compressor: NoCompressor(),
            makeDecompressor: nil)
    else { throw NoTranslation() }
    guard isConnected else { return translation }
    if translation.awaitsConnect {
        let connect = kind == .legacy ? #"{"connect":1}"# : #"{"type":"connect","target":""}"#
        translation.receive(Array(connect.utf8)[...], isText: true, isLast: true, into: &output)
    }
    translation.connected(identity, telnet: TelnetClientSettings(), into: &output)
    // WILL for GMCP, MSDP and ECHO, DO for NAWS and TTYPE.
    var offers: ArraySlice<UInt8> = [255, 251, 201, 255, 251, 69, 255, 251, 1, 255, 253, 31, 255, 253, 24]
    while translation.next(&offers, now: 0, into: &output) {}
    return translation
}

private func receive(_ message: [UInt8], _ translation: Translation, isText: Bool = true, pieceBytes: Int = .max) {
    var (translation, output) = (translation, TranslationOutput())
    var rest = message[...]
    repeat {
        let piece = rest.prefix(pieceBytes)
        rest = rest.dropFirst(piece.count)
        translation.receive(piece, isText: isText, isLast: rest.isEmpty, into: &output)
    } while !rest.isEmpty
    use(output.frames.bytes.count + output.toTarget.count)
}

/// - Parameter message: JSON with `$` for the text.
private func message(_ kind: DialectKind, _ name: String, in message: String, isConnected: Bool = true) -> HostilePlace
{
    json("\(name) of a \(kind.rawValue) message", in: message) { bytes in
        guard let translation = try? translation(kind, isConnected: isConnected) else { return }
        receive(bytes, translation)
    }
}

private let translated: [DialectKind] = [.typed, .gmcp, .json, .legacy, .terminal]

private func whole(_ kind: DialectKind) -> [HostilePlace] {
    [
        made("a \(kind.rawValue) message of hostile bytes") { bytes in
            let translation = try translation(kind)
            return { receive(bytes, translation) }
        },
        made("a binary \(kind.rawValue) message of hostile bytes") { bytes in
            let translation = try translation(kind)
            return { receive(bytes, translation, isText: false) }
        },
        made("a \(kind.rawValue) message in pieces of 16 bytes", texts: [HostileText.marks]) { bytes in
            let translation = try translation(kind)
            let object = Array(#"{"type":"input","text":""#.utf8) + bytes + Array(#""}"#.utf8)
            return { receive(object, translation, pieceBytes: 16) }
        },
        made("a first \(kind.rawValue) message of hostile bytes") { bytes in
            let translation = try translation(kind, isConnected: false)
            return { receive(bytes, translation) }
        },
        made("a \(kind.rawValue) message of many members", spelled: [.json]) { bytes in
            let translation = try translation(kind)
            let object = objectOfMembers(
                named: Array(bytes.prefix(4)), bytes.count / 16, front: #""type":"input","text":"a","proto":"gmcp""#)
            return { receive(object, translation) }
        },
    ]
}

private let typed = places {
    message(.typed, "type", in: #"{"type":"$"}"#)
    message(.typed, "a first type", in: #"{"type":"$"}"#, isConnected: false)
    message(.typed, "a member", in: #"{"type":"input","text":"a","$":"$"}"#)
    message(.typed, "text", in: #"{"type":"input","text":"$"}"#)
    message(.typed, "text and cid", in: #"{"type":"input","text":"$","cid":"$"}"#)
    message(.typed, "host", in: #"{"type":"connect","host":"$","port":4000}"#, isConnected: false)
    message(.typed, "port", in: #"{"type":"connect","host":"a","port":"$"}"#, isConnected: false)
    message(.typed, "target", in: #"{"type":"connect","target":"$"}"#, isConnected: false)
    message(.typed, "deviceToken", in: #"{"type":"connect","target":"","deviceToken":"$"}"#, isConnected: false)
    message(
        .typed, "a resume's id", in: #"{"type":"resume","sessionId":"$","token":"a","lastSeq":0}"#, isConnected: false)
    message(
        .typed, "a resume's token", in: #"{"type":"resume","sessionId":"a","token":"$","lastSeq":0}"#,
        isConnected: false)
    message(.typed, "an acknowledgement's id", in: #"{"type":"syncAck","sessionId":"$","lastSeq":0}"#)
    message(.typed, "an activity's token", in: #"{"type":"activityToken","token":"$"}"#)
    message(.typed, "a GMCP package", in: #"{"type":"gmcp","package":"$","data":{}}"#)
    message(.typed, "an MSDP package", in: #"{"type":"gmcp","package":"MSDP.$","data":""}"#)
    message(.typed, "GMCP data", in: #"{"type":"gmcp","package":"A.B","data":{"$":"$"}}"#)
    message(.typed, "MSDP data", in: #"{"type":"gmcp","package":"MSDP.A","data":{"$":["$"]}}"#)
    message(.typed, "a blank text", in: #"{"type":"resume","sessionId":" $","token":" $","lastSeq":0}"#)
}

private let enveloped = places {
    message(.json, "proto", in: #"{"proto":"$","id":"a","data":"a"}"#)
    message(.json, "a telnet proto", in: #"{"proto":"telnet_$","id":"a","data":"a"}"#)
    message(.json, "a member", in: #"{"proto":"text","data":"a","$":"$"}"#)
    message(.json, "a GMCP id", in: #"{"proto":"gmcp","id":"$","data":"a"}"#)
    message(.json, "an MSDP id", in: #"{"proto":"msdp","id":"$","data":"a"}"#)
    message(.json, "a terminal's id", in: #"{"proto":"terminal","id":"$","data":"a"}"#)
    message(.json, "GMCP data", in: #"{"proto":"gmcp","id":"A.B","data":"$"}"#)
    message(.json, "GMCP data as an object", in: #"{"proto":"gmcp","id":"A.B","data":{"$":"$"}}"#)
    message(.json, "MSDP data", in: #"{"proto":"msdp","id":"A","data":"$"}"#)
    message(.json, "MSDP data as an object", in: #"{"proto":"msdp","id":"A","data":{"$":["$"]}}"#)
    message(.json, "text", in: #"{"proto":"text","data":"$"}"#)
    message(.json, "a terminal's type", in: #"{"proto":"terminal","id":"type","data":"$"}"#)
    message(.json, "a size", in: #"{"proto":"naws","data":"$"}"#)
    message(.json, "a size's members", in: #"{"proto":"naws","data":{"$":1,"cols":"$"}}"#)
    message(.json, "a subnegotiation", in: #"{"proto":"telnet_201","id":"a","data":"$"}"#)
    prepared("a subnegotiation in base64 of a json message") { text in
        let data = Base64.encode(
            [255, 250, 201] + Array("A.B \"".utf8) + Array(text.utf8) + Array("\"".utf8) + [255, 240])
        let object = #"{"proto":"telnet_201","id":"a","data":""# + data + #""}"#
        let translation = try translation(.json)
        return { receive(Array(object.utf8), translation) }
    }
}

private let legacy = places {
    message(.legacy, "connect", in: #"{"connect":"$"}"#, isConnected: false)
    message(.legacy, "a member", in: #"{"connect":1,"$":"$"}"#, isConnected: false)
    message(.legacy, "mud", in: #"{"connect":1,"mud":"$"}"#, isConnected: false)
    message(.legacy, "host", in: #"{"connect":1,"host":"$","port":4000}"#, isConnected: false)
    message(.legacy, "client and ttype", in: #"{"connect":1,"client":"$","ttype":"$"}"#, isConnected: false)
    message(.legacy, "mccp", in: #"{"connect":1,"mccp":"$"}"#, isConnected: false)
    message(.legacy, "gmcp", in: #"{"gmcp":"$"}"#)
    message(.legacy, "gmcp data", in: #"{"gmcp":"A.B \"$\""}"#)
    message(.legacy, "an msdp key", in: #"{"msdp":{"key":"$","val":"a"}}"#)
    message(.legacy, "an msdp value", in: #"{"msdp":{"key":"A","val":["$"]}}"#)
    message(.legacy, "chat", in: #"{"chat":"$"}"#)
}

private let gmcp = places {
    message(.gmcp, "a name", in: #"$ {}"#)
    message(.gmcp, "a name's end", in: #"A.$ {}"#)
    message(.gmcp, "an own name", in: #"Portcullis.$ {}"#)
    message(.gmcp, "data", in: #"A.B "$""#)
    message(.gmcp, "data's members", in: #"A.B {"$":"$"}"#)
    message(.gmcp, "an MSDP name", in: #"MSDP.$ "a""#)
    message(.gmcp, "a size's members", in: #"Portcullis.Size {"$":1,"cols":"$"}"#)
}

private func choose(_ message: [UInt8]) {
    var chooser = DialectChooser(subprotocol: nil, standard: .auto, now: 0)
    use(chooser.receive(message[...], isText: true, isLast: true))
}

// MARK: Targets

private let policies: [TargetPolicy] = ["fixed", "allowlist", "arbitrary"].compactMap { mode in
    guard let mode = TargetMode(rawValue: mode), let target = try? TargetEndpoint("mud.example:4000"),
        let routes = try? Route.list(
            "live=10.0.0.1:4000 app_attest=10.0.0.2:4000", methods: ["app"], isKnownEncoding: { _ in true })
    else { return nil }
    return try? TargetPolicy(
        TargetSettings(
            mode: mode, standard: target, routes: mode == .arbitrary ? [] : routes,
            allowed: mode == .allowlist ? [target] : [],
            ports: mode == .arbitrary ? [4000...4000] : []))
}

private func authorize(_ request: TargetRequest) {
    for policy in policies {
        use(policy.authorize(request, for: "app"))
        use(policy.decide(request).methods)
        use(policy.decide(request).compression)
    }
}

private let targets = places {
    text("a route's name") { text in authorize(.route(text)) }
    text("a target's host") { text in authorize(.address(host: text, port: 4000)) }
    text("a target's short host", bytes: 254) { text in authorize(.address(host: text, port: 4000)) }
    text("a host") { use(TargetHost($0)) }
    text("a target") { use(try? TargetEndpoint($0)) }
    text("a target's port") { use(try? TargetEndpoint("a:" + $0)) }
    text("a list of targets") { use(try? TargetList.targets($0)) }
    text("a list of ports") { use(try? TargetList.ports($0)) }
    text("a list of routes") { use(try? routes($0)) }
    text("a route's target") { use(try? routes("a=" + $0)) }
    text("a route's option") { use(try? routes("a=b:1," + $0)) }
    text("a route's encoding") { use(try? routes("a=b:1,encoding=" + $0)) }
    text("a route's admit") { use(try? routes("a=b:1,admit=" + $0)) }
    prepared("many routes' targets") { text in
        let pieces = text.utf8.split(separator: UInt8(ascii: " ")).prefix(2_000).map { String(Substring($0)) }
        let list = pieces.enumerated().map { "a\($0)=b:1,encoding=\($1)" }.joined(separator: ";")
        return { use(try? routes(list)) }
    }
    text("many equal targets", texts: [HostileText.marks]) { text in
        use(try? TargetList.targets(String(repeating: "mud.example:4000,", count: text.utf8.count / 17)))
    }
    text("many targets", texts: [HostileText.marks]) { text in
        use(try? TargetList.targets((0..<text.utf8.count / 17).map { "mud\($0).example:4000" }.joined(separator: ",")))
    }
}

private func routes(_ text: String) throws -> [Route] {
    try Route.list(text, methods: ["app", "cert"]) { TextEncoding(name: $0) != nil }
}
