/// NEW-ENVIRON (RFC 1572) with the variables of the Mud New-Environment Standard. The client answers and never
/// requests.
enum NewEnvironment {
    /// The most variables in one answer; further names of a request are ignored.
    static let maximumVariables = 32
    /// The longest name that can be one of ours.
    static let maximumNameBytes = 64

    struct Variable: Equatable {
        let name: String
        let value: String
    }

    private static let `is`: UInt8 = 0
    private static let send: UInt8 = 1
    private static let info: UInt8 = 2

    private enum Mark: UInt8 {
        case variable = 0
        case value = 1
        case escape = 2
        case userVariable = 3
    }

    /// One name of a SEND; an empty name requests all variables of that kind.
    private struct Request {
        let kind: Mark
        var name: [UInt8] = []
    }

    /// - Returns: the payload of the answer; nil if `payload` isn't a SEND.
    static func answer(to payload: [UInt8], _ variables: [Variable]) -> [UInt8]? {
        guard payload.first == send else { return nil }
        let requests = requests(in: payload.dropFirst())
        var answer = [Self.is]
        if requests.isEmpty { append(variables, to: &answer) }
        for request in requests {
            guard !request.name.isEmpty else {
                // Our variables are MNES's, which have kind VAR; there are no user variables.
                if request.kind == .variable { append(variables, to: &answer) }
                continue
            }
            answer.append(request.kind.rawValue)
            append(escaped: request.name, to: &answer)
            // A variable without a value is undefined.
            if let known = variables.first(where: { Array($0.name.utf8) == request.name }) {
                answer.append(Mark.value.rawValue)
                append(escaped: known.value.utf8, to: &answer)
            }
        }
        return answer
    }

    /// The payload that announces changed variables unasked (INFO).
    static func announcement(of variables: [Variable]) -> [UInt8] {
        var payload = [info]
        append(variables, to: &payload)
        return payload
    }

    private static func requests(in list: ArraySlice<UInt8>) -> [Request] {
        var requests: [Request] = []
        var isEscaped = false
        reading: for byte in list {
            let mark = isEscaped ? nil : Mark(rawValue: byte)
            isEscaped = mark == .escape
            switch mark {
            case .variable?, .userVariable?:
                guard requests.count < maximumVariables else { break reading }
                requests.append(Request(kind: byte == Mark.variable.rawValue ? .variable : .userVariable))
            case .escape?:
                break
            case .value?, nil:
                // A byte before the first VAR is ignored.
                guard let last = requests.indices.last else { continue }
                if requests[last].name.count <= maximumNameBytes { requests[last].name.append(byte) }
            }
        }
        return requests.filter { $0.name.count <= maximumNameBytes }
    }

    private static func append(_ variables: [Variable], to output: inout [UInt8]) {
        for variable in variables {
            output.append(Mark.variable.rawValue)
            append(escaped: variable.name.utf8, to: &output)
            output.append(Mark.value.rawValue)
            append(escaped: variable.value.utf8, to: &output)
        }
    }

    private static func append(escaped bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in bytes {
            if Mark(rawValue: byte) != nil { output.append(Mark.escape.rawValue) }
            output.append(byte)
        }
    }
}
