import FoundationEssentials
import Observability
import SwiftASN1
import X509

/// The issuer and the dates of a certificate revocation list (RFC 5280, section 5.1). OpenSSL checks its signature and
/// its entries.
///
///     CertificateList ::= SEQUENCE { tbsCertList, signatureAlgorithm, signatureValue }
///     TBSCertList     ::= SEQUENCE { version INTEGER OPTIONAL, signature, issuer Name, thisUpdate Time,
///                                    nextUpdate Time OPTIONAL, … }
struct RevocationListDates {
    let issuer: DistinguishedName
    let thisUpdate: Date
    /// Nil: the list doesn't say when the next one comes.
    let nextUpdate: Date?

    init(der: [UInt8]) throws {
        self = try DER.sequence(try DER.parse(der), identifier: .sequence) { outer in
            let list = try Self(toBeSigned: try Self.next(&outer))
            Self.skipRest(&outer)
            return list
        }
    }

    private init(issuer: DistinguishedName, thisUpdate: Date, nextUpdate: Date?) {
        self.issuer = issuer
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }

    private init(toBeSigned node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { fields in
            let first = try Self.next(&fields)
            if first.identifier == .integer { _ = try Self.next(&fields) }
            let issuer = try DistinguishedName(derEncoded: try Self.next(&fields))
            let thisUpdate = try Self.time(try Self.next(&fields))
            var nextUpdate: Date?
            if let node = fields.next(), node.identifier == .utcTime || node.identifier == .generalizedTime {
                nextUpdate = try Self.time(node)
            }
            Self.skipRest(&fields)
            return Self(issuer: issuer, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        }
    }

    private static func next(_ nodes: inout ASN1NodeCollection.Iterator) throws -> ASN1Node {
        guard let node = nodes.next() else {
            throw ASN1Error.invalidASN1Object(reason: "A certificate list ends too early.")
        }
        return node
    }

    private static func skipRest(_ nodes: inout ASN1NodeCollection.Iterator) {
        while nodes.next() != nil {}
    }

    private static func time(_ node: ASN1Node) throws -> Date {
        if node.identifier == .utcTime {
            let time = try UTCTime(derEncoded: node)
            return try date(time.year, time.month, time.day, time.hours, time.minutes, time.seconds)
        }
        let time = try GeneralizedTime(derEncoded: node)
        return try date(time.year, time.month, time.day, time.hours, time.minutes, time.seconds)
    }

    private static func date(
        _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
    ) throws -> Date {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let components = DateComponents(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        guard let date = calendar.date(from: components) else {
            throw ASN1Error.invalidASN1Object(reason: "A certificate list has an impossible time.")
        }
        return date
    }
}

extension ConfigurationLoader {
    /// Every list must be of a configured authority, and every authority should have one: once lists are checked,
    /// OpenSSL refuses the certificates of an authority without a list, and of one whose list has expired.
    ///
    /// - Parameter authority: the setting that names the authorities.
    mutating func checkRevocationLists(
        _ file: FileSetting, of authorities: [Certificate], in authority: LiveSetting<String?>
    ) {
        let (setting, path) = file
        var issuers: Set<DistinguishedName> = []
        for document in documents(setting, path, named: ["X509 CRL"]) {
            guard let list = try? RevocationListDates(der: document.derBytes) else {
                fail(setting, "holds a list that can't be read", "Check it with `openssl crl -in FILE -text`.")
                return
            }
            guard authorities.contains(where: { $0.subject == list.issuer }) else {
                fail(
                    setting, "holds a list of another authority (\(EscapedText(list.issuer.description)))",
                    "Name lists of the authorities in \(authority.name).")
                return
            }
            issuers.insert(list.issuer)
            warnOfDates(setting, of: list)
        }
        for authority in authorities where !issuers.isEmpty && !issuers.contains(authority.subject) {
            warn(setting, "has no list of \(authority.subject): all of its certificates are refused.")
        }
    }

    private mutating func warnOfDates(_ setting: LiveSetting<String?>, of list: RevocationListDates) {
        let name = "the revocation list of \(list.issuer)"
        if now < list.thisUpdate {
            warn(setting, "\(name) isn't valid yet; until it is, client certificates are refused.")
        } else if let next = list.nextUpdate {
            warnOfExpiry(
                setting, name, at: next, days: Self.revocationListWarningDays,
                "Until a fresh one is in place, every client certificate is refused.")
        }
    }
}
