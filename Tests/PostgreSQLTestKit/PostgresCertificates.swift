import Foundation

/// An authority, and a server's certificate by it; made by OpenSSL's program.
package final class PostgresCertificates: Sendable {
    private let directory: String

    /// PEM.
    package var authority: String { directory + "/ca.pem" }

    /// - Parameter name: the server's, in its certificate.
    package init(name: String) throws {
        directory = NSTemporaryDirectory() + "portcullis-pg-tls-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        Leftovers.add(directory: directory)
        try Data("subjectAltName=DNS:\(name)\n".utf8).write(to: URL(fileURLWithPath: directory + "/names"))
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try openssl(
            ["req", "-x509"] + key + ["-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test", "-days", "2"])
        try openssl(["req"] + key + ["-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=\(name)"])
        try openssl([
            "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem",
        ])
    }

    deinit { Leftovers.remove(directory: directory) }

    private func openssl(_ arguments: [String]) throws {
        let files: Set = ["ca.key", "ca.pem", "server.key", "server.csr", "server.pem", "names"]
        let words = arguments.map { files.contains($0) ? directory + "/" + $0 : $0 }
        try Program.run(["/usr/bin/openssl"] + words, output: directory + "/log")
    }

    func install(in data: String) throws {
        for name in ["server.pem", "server.key"] {
            try FileManager.default.copyItem(atPath: directory + "/" + name, toPath: data + "/" + name)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: data + "/" + name)
            PostgresPrograms.give(data + "/" + name)
        }
    }
}
