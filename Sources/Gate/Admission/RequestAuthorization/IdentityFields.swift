import DPoP
import FoundationEssentials
import KeyStore

extension VerifiedResourceRequest {
    /// The verified identity in header fields, for the service behind a proxy.
    package var identityFields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = [
            ("X-Portcullis-Subject", FieldText.escaped(claims.subject)),
            ("X-Portcullis-App", FieldText.escaped(claims.app)),
            ("X-Portcullis-Method", FieldText.escaped(claims.admissionMethod)),
            // An account that began with a development token counts as one, and has its grant.
            ("X-Portcullis-Mode", claims.isDevelopment || grant != nil ? "dev" : "production"),
            ("X-Portcullis-Key", claims.boundKey.text),
            ("X-Portcullis-Expires", String(Int64(claims.expiresAt.timeIntervalSince1970))),
        ]
        if let grant { fields.append(("X-Portcullis-Dev-Token", FieldText.escaped("\(grant.id) \(grant.name)"))) }
        return fields
    }
}

/// Text in a header field: printable ASCII; everything else is percent-encoded, and the percent sign too.
enum FieldText {
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                escaped += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }
}
