import Foundation
import Glibc
import SettingsTestKit
import Testing

@testable import Settings

/// A certificate and its key behind one symbolic link, which is switched while they are looked up.
struct FilePairTests {
    private let bench: ConfigurationBench
    private var paths: (first: String, second: String) {
        ("\(bench.folder)/tls/fullchain.pem", "\(bench.folder)/tls/privkey.pem")
    }

    init() throws {
        bench = try ConfigurationBench()
        for folder in ["old", "new"] {
            mkdir("\(bench.folder)/\(folder)", 0o700)
            for name in ["fullchain.pem", "privkey.pem"] { _ = try bench.file("\(folder)/\(name)", "") }
        }
        point(to: "old")
    }

    private func point(to folder: String) {
        let next = "\(bench.folder)/next"
        symlink(folder, next)
        rename(next, "\(bench.folder)/tls")
    }

    private func folder(_ path: String) -> Substring? { path.split(separator: "/").dropLast().last }

    /// - Parameter look: the look before which the link is switched: at the certificate, at the key, at the certificate
    ///   again, or later.
    @Test(arguments: 1...6)
    func `both files are those of one moment, whenever the link is switched`(look: Int) {
        var looks = 0
        let pair = NamedFile.pair(paths.first, paths.second) { path in
            looks += 1
            if looks == look { point(to: "new") }
            return NamedFile.resolved(path)
        }
        #expect(folder(pair.first) == folder(pair.second))
        #expect(folder(pair.first) == (look <= 3 ? "new" : "old"))
    }

    @Test func `a link that is switched all the time ends the looks, and the paths stay as they are`() {
        var looks = 0
        let pair = NamedFile.pair(paths.first, paths.second) { path in
            looks += 1
            point(to: looks % 3 == 1 ? "old" : "new")
            return NamedFile.resolved(path)
        }
        #expect(pair == paths)
        #expect(looks == 30)
    }

    @Test(arguments: ["old/fullchain.pem", "old/privkey.pem"], [false, true])
    func `paths that lead to no file stay as they are`(missing: String, isFolder: Bool) {
        unlink("\(bench.folder)/\(missing)")
        if isFolder { mkdir("\(bench.folder)/\(missing)", 0o700) }
        #expect(NamedFile.pair(paths.first, paths.second) == paths)
    }
}
