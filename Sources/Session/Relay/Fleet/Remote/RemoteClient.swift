import Admission
import FleetWire
import RelayCore
import StateCoding
import WireText

/// What a client asks another gateway for.
struct RemoteRequest {
    /// Its id and token have been checked for their form.
    let resume: ResumeRequest
    let target: TargetRequest
    /// Nil: the first message decides, there.
    let dialect: DialectKind?

    /// - Returns: nil if no gateway could have such a session.
    init?(_ resume: ResumeRequest, target: TargetRequest, dialect: DialectKind?) {
        guard SessionIdentity.isID(resume.sessionID), SessionToken.isText(resume.token), dialect?.resumes != false
        else { return nil }
        (self.resume, self.target, self.dialect) = (resume, target, dialect)
    }
}

/// The client that resumes a session of another gateway, as that one is told.
struct RemoteClient {
    let requestID: String
    let address: SocketAddress
    let isTLS: Bool
    /// Nil: it has nothing but the session's token.
    let principal: [UInt8]?

    /// - Returns: nil if the client can't be told to another gateway.
    init?(_ client: ClientIdentity, by carrier: PrincipalCarrier) {
        guard let principal = carrier.encoded(client.principal) else { return nil }
        requestID = client.session
        address = SocketAddress(client.address, port: client.port)
        isTLS = client.isSecure
        self.principal = principal
    }

    /// One that isn't known here.
    init(_ upgrade: Upgrade) {
        requestID = upgrade.context.id
        address = SocketAddress(upgrade.context.address, port: upgrade.port)
        isTLS = upgrade.isTLS
        principal = nil
    }

    var preface: RelayPreface {
        var preface = RelayPreface(client: address, isTLS: isTLS, requestID: requestID)
        preface.principal = principal
        return preface
    }
}

extension PrincipalCarrier {
    func encoded(_ principal: Principal) -> [UInt8]? {
        carry(principal).flatMap { try? StateEncoder.bytes(of: $0) }
    }
}

/// Who has asked for a ``RemoteSession``, and gets one of these answers, once.
protocol RemoteAsker: AnyObject {
    /// The other gateway has given the session away. ``RemoteSession/attach(to:)`` or ``RemoteSession/abandon()``
    /// follows.
    ///
    /// - Parameter principal: whose the session is, if its token was all that the other gateway was told; in the form
    ///   that crosses to another process.
    func remoteAgreed(_ remote: RemoteSession, as principal: [UInt8]?)
    func remoteFailed(_ failure: RemoteFailure)
}

enum RemoteFailure {
    /// - Parameters:
    ///   - code: as for clients.
    ///   - isTokenWrong: the session's token, so that the answer is the same for every client.
    case refused(status: Int, code: String?, isTokenWrong: Bool)
    /// The session has ended, or another process is there than the one that had it.
    case unknown
    /// The text is for the log.
    case unreachable(String)

    /// For a client that has its 101.
    var ofResume: ResumeFailure {
        switch self {
        case .unknown: .expired
        case .unreachable: .unavailable
        case .refused(let status, _, _): status >= 500 || status == 429 ? .unavailable : .invalid
        }
    }
}

/// A client whose session another gateway has.
protocol RelayedClient: AnyObject {
    /// Nil while the other gateway is asked.
    var admitted: ClientIdentity? { get }

    func close(code: UInt16, reason: String)
}
