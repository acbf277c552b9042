import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What a gateway without privileges, as under systemd, sends to the system's log besides its own lines. It runs in
    /// a mount namespace whose /dev/log is the test's.
    @Suite(.enabled(if: SmallDisk.isAvailable, "needs mount namespaces"))
    struct SystemLogTests {
        private static let script = """
            folder=$1; shift
            mkdir "$folder/dev"
            for name in null zero random urandom; do touch "$folder/dev/$name"; mount --bind "/dev/$name" "$folder/dev/$name"; done
            ln -s "$folder/log" "$folder/dev/log"
            mount --rbind "$folder/dev" /dev
            exec setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$@"
            """

        /// The lines that arrive from start to end.
        private func lines(_ environment: [String: String]) async throws -> [String] {
            let directory = try TemporaryDirectory()
            let log = try LogSocket(directory.file("log"))
            let values = GatewaySettings(targetPort: 1).setting("ATTESTED_KEYS_PATH", directory.file("keys.sqlite"))
                .values
            let file = try directory.write(values.map { "\($0.key)=\($0.value)\n" }.joined(), to: "gateway.env")
            let asRoot = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
            let child = try ChildProcess(
                ChildProcess.executable("unshare"),
                asRoot + ["--mount", "sh", "-euc", Self.script, "sh", directory.path, Binaries.portcullis()]
                    + ["serve", "--env-file", file],
                environment: ChildProcess.plainEnvironment.merging(environment) { $1 })
            defer { child.signal(SIGKILL) }
            try await child.output.wait(for: "the gateway's ready line", within: .seconds(60)) { output in
                if output.ending != nil { throw EdgeTestError("the gateway did not start: \(output)") }
                return output.errorText.contains("listening on") ? true : nil
            }
            child.signal(SIGTERM)
            #expect(try await child.ended().ending == .exited(0))
            return log.lines()
        }

        @Test func `is nothing`() async throws {
            #expect(try await lines([:]) == [])
            // The socket is where it looks: libdispatch's own setting goes before ours.
            let told = try await lines(["LIBDISPATCH_LOG": "syslog"])
            #expect(told.contains { $0.contains("Failed to set thread priority") }, "\(told)")
        }
    }
}

/// A socket in place of /dev/log.
private final class LogSocket {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let code = withUnsafeBytes(of: &address) {
            bind(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard code == 0, path.utf8.count < 108 else { throw EdgeTestError("no socket at \(path): \(errno)") }
    }

    deinit { close(descriptor) }

    /// What has arrived.
    func lines() -> [String] {
        var (lines, buffer): ([String], [UInt8]) = ([], [UInt8](repeating: 0, count: 4_096))
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return lines }
            lines.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }
}
