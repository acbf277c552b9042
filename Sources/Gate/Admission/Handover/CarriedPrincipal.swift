import StateCoding
import WireText

/// An identity on its way to the process that replaces this one.
package struct CarriedIdentity: Codable, Hashable, Sendable {
    /// The label of its method.
    let method: String
    let subject: String?

    init(_ identity: Identity) {
        method = identity.method.label
        subject = identity.subject
    }

    /// The identity's own.
    var mark: [UInt8] { Identity.mark(method: method, subject: subject) }
}

/// An admitted client on its way to the process that replaces this one.
package struct CarriedPrincipal: Codable, Sendable {
    let identity: CarriedIdentity
    /// As the method's proof encodes itself.
    let proof: [UInt8]?
    let ticketChainEnd: MonotonicTime?
    let secret: SharedSecret?
    let isByToken: Bool
    /// Programs of before don't say.
    var isOfSharedTicket: Bool?
}

/// Turns clients into what crosses, and back. What crosses was verified by the process that this one replaces, or comes
/// from another gateway of the fleet, which may claim anything: so its texts are ASCII and short, as those of every
/// identity.
package struct PrincipalCarrier: Sendable {
    private let methods: [GateMethod]

    init(_ methods: [GateMethod]) { self.methods = methods }

    init(_ methods: [any AdmissionMethod]) { self.init(methods.map(GateMethod.init)) }

    /// - Returns: `nil` where no method could read the proof again.
    package func carry(_ principal: Principal) -> CarriedPrincipal? {
        var proof: [UInt8]?
        if let held = principal.proof {
            guard let type = method(of: principal.identity.method.label)?.proofType, type == Swift.type(of: held),
                let bytes = try? StateEncoder.bytes(of: held)
            else { return nil }
            proof = bytes
        }
        return CarriedPrincipal(
            identity: CarriedIdentity(principal.identity), proof: proof, ticketChainEnd: principal.ticketChainEnd,
            secret: principal.carriedSecret, isByToken: principal.isByToken,
            isOfSharedTicket: principal.isOfSharedTicket)
    }

    package func restore(_ carried: CarriedPrincipal) throws -> Principal {
        var identity = try restore(carried.identity)
        var proof: (any AdmissionProof)?
        if let bytes = carried.proof {
            guard let type = method(of: carried.identity.method)?.proofType else { throw CarriedStateFault() }
            let read = try Self.proof(type, bytes)
            if let subject = identity.subject {
                identity = Identity(method: read.name(for: identity.method), subject: subject)
            }
            proof = read
        }
        let principal = Principal(
            identity, proof: proof, ticketChainEnd: carried.ticketChainEnd, secret: carried.secret,
            isOfSharedTicket: carried.isOfSharedTicket ?? (identity.method.holders == .visitors))
        return carried.isByToken ? principal.comingBack : principal
    }

    package func restore(_ carried: CarriedIdentity) throws -> Identity {
        guard let subject = carried.subject else {
            guard carried.method.hasSameBytes(as: Identity.anonymous.method.label) else { throw CarriedStateFault() }
            return .anonymous
        }
        let names = methods.lazy.flatMap(\.traits.identityNames)
        guard (1...Self.maximumSubjectBytes).contains(subject.utf8.count), subject.utf8.allSatisfy({ $0 < 0x80 }),
            let name = names.first(where: { $0.label.hasSameBytes(as: carried.method) })
        else {
            throw CarriedStateFault()
        }
        return Identity(method: name, subject: subject)
    }

    /// Longer than every identity: of a key, a certificate, a ticket or a token.
    static let maximumSubjectBytes = 256

    private func method(of label: String) -> (any AdmissionMethod)? {
        methods.first { $0.traits.identityNames.contains { $0.label.hasSameBytes(as: label) } }?.method
    }

    private static func proof<Proof: AdmissionProof>(_ type: Proof.Type, _ bytes: [UInt8]) throws -> any AdmissionProof
    {
        try StateDecoder.decode(type, from: bytes, demandsASCII: true)
    }
}

/// What another process has written can't be of this process: it names a method that isn't here, or breaks a rule of
/// its type.
package struct CarriedStateFault: Error {
    package init() {}
}
