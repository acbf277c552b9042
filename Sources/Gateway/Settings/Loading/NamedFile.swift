import FoundationEssentials
import Glibc
import Observability

/// Reads and checks the files that settings name.
package enum NamedFile {
    /// Bytes of a certificate, key or revocation list file.
    package static let maximumBytes = 4_194_304

    /// The whole file as UTF-8.
    ///
    /// - Parameter subject: the beginning of the problem's text; empty if the problem is about the file itself.
    package static func text(
        _ path: String, maximumBytes: Int = maximumBytes, subject: String = "names a file that "
    ) throws(SettingProblem) -> String {
        do throws(SettingProblem) {
            let bytes = try bytes(path, maximumBytes: maximumBytes)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw SettingProblem(
                    problem: "isn't UTF-8 text", remedy: "Convert it, or check that it is the right one.")
            }
            return text
        } catch {
            throw SettingProblem(problem: subject + error.problem, remedy: error.remedy)
        }
    }

    /// - Throws: a problem without a subject.
    private static func bytes(_ path: String, maximumBytes: Int) throws(SettingProblem) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path, errno) }
            guard count > 0 else { return contents }
            contents += buffer[..<count]
            guard contents.count <= maximumBytes else {
                throw SettingProblem(
                    problem: "has more than \(maximumBytes) bytes",
                    remedy: "Check that it is the right one.")
            }
        }
    }

    private static func unreadable(_ path: String, _ number: CInt) -> SettingProblem {
        SettingProblem(
            problem: "can't be read (\(EscapedText(path)): \(String(cString: strerror(number))))",
            remedy: "Check the path and the file's permissions; a relative path counts from the working directory.")
    }

    /// Whether others than owner and group may read the file.
    static func isReadableByEverybody(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let mode = attributes?[.posixPermissions] as? Int ?? 0
        return mode & 0o004 != 0
    }

    /// Why a file can't be created or written here; nil when it can.
    static func obstacle(toWriting path: String) -> SettingProblem? {
        var isFolder = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            guard !isFolder else {
                return SettingProblem(problem: "names a folder", remedy: "Name a file.")
            }
            return access(path, W_OK) == 0 ? nil : unwritable(path, errno)
        }
        return obstacle(toFileIn: path)
    }

    /// Why no socket can be made here; nil when one can. An existing socket may be the gateway's own.
    static func obstacle(toListeningOn path: String) -> SettingProblem? {
        // For a symbolic link, these are the attributes of the link itself.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
            return obstacle(toFileIn: path)
        }
        guard attributes[.type] as? FileAttributeType == .typeSocket else {
            return SettingProblem(
                problem: "names something that is there and isn't a socket", remedy: "Name a file that isn't there yet."
            )
        }
        return obstacle(toFileIn: path)
    }

    /// Why nothing can be made or removed in the folder of `path`.
    private static func obstacle(toFileIn path: String) -> SettingProblem? {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let place = folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder
        return access(place, W_OK | X_OK) == 0 ? nil : unwritable(place, errno)
    }

    private static func unwritable(_ path: String, _ number: CInt) -> SettingProblem {
        let remedy = "Create the folder, or give the gateway's user the right to write there."
        let place = EscapedText(absolute(path))
        return SettingProblem(
            problem: "names a file that can't be written (\(place): \(String(cString: strerror(number))))",
            remedy: path.hasPrefix("/")
                ? remedy : "A relative path begins at the working directory: set an absolute path. " + remedy)
    }

    /// How often `pair` looks again at links that are being switched.
    private static let pairLooks = 10

    /// Where the symbolic links of two paths lead at one moment, so that both files can be read as one: a renewed
    /// certificate and its key often replace the old ones by a switch of a link, and the switch may come between two
    /// reads.
    ///
    /// - Parameter resolve: follows all links of a path; nil if that is impossible.
    /// - Returns: the two paths as given if one of them leads to no readable file, so that the error of its reader
    ///   names it.
    package static func pair(
        _ first: String, _ second: String, resolve: (String) -> String? = resolved
    ) -> (first: String, second: String) {
        for _ in 0..<pairLooks {
            guard let one = resolve(first), let other = resolve(second) else { break }
            if resolve(first) == one { return (one, other) }
        }
        return (first, second)
    }

    /// The path without symbolic links; nil if no file is there that can be read.
    package static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        var status = stat()
        guard stat(found, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(found, R_OK) == 0 else {
            return nil
        }
        return String(validatingCString: found)
    }

    /// The path from the root, as the kernel finds it.
    package static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        let folder = FileManager.default.currentDirectoryPath
        return path == "." ? folder : folder + (folder.hasSuffix("/") ? "" : "/") + path
    }
}
