import Foundation
import Testing

/// The Debian package, the image and the unit name the same user, files and settings.
@Suite("The packaging")
struct PackagingTests {
    private let unit: String
    private let rules: String
    private let container: String

    init() throws {
        unit = try Repository.text("config/portcullis.service")
        rules = try Repository.text("config/debian/rules")
        container = try Repository.text("config/Containerfile")
    }

    @Test func `knows only settings that there are`() throws {
        let example = try Repository.text("config/portcullis.env.example")
        let known = Set(example.matches(of: /(?m)^#([A-Z][A-Z0-9_]+)=/).map { String($0.1) })
        let packaged = try Repository.text("config/debian/settings")
        let ofPackage = packaged.matches(of: /(?m)^#?([A-Z][A-Z0-9_]+)=/).map { String($0.1) }
        let ofImage = container.matches(of: /(?m)^(?:ENV|   ) ([A-Z][A-Z0-9_]+)=/).map { String($0.1) }
        #expect(known.count > 50 && ofPackage.count >= 8 && ofImage.count >= 3)
        // As systemd calls it.
        #expect(Set(ofPackage + ofImage).subtracting(known) == ["STATE_DIRECTORY"])
    }

    @Test func `runs the same program, as the same user`() throws {
        #expect(rules.contains(" debian/portcullis/usr/bin/portcullis\n"))
        #expect(unit.contains("\nExecStart=/usr/bin/portcullis serve "))
        #expect(container.contains("\nENTRYPOINT [\"/usr/bin/portcullis\"]\n"))
        let user = try Repository.text("config/debian/portcullis.postinst")
        #expect(user.contains(/adduser --system --group [^;]*portcullis\n/))
        #expect(unit.contains("\nUser=portcullis\nGroup=portcullis\n"))
        #expect(container.contains("\nUSER portcullis:portcullis\n") && container.matches(of: /(?m)^USER/).count == 1)
    }

    @Test func `keeps settings, state and logs in the folders that the unit opens`() throws {
        for folder in ["Configuration", "State", "Logs", "Runtime"] {
            #expect(unit.contains("\n\(folder)Directory=portcullis\n"), "\(folder)")
        }
        #expect(unit.matches(of: /--env-file \/etc\/portcullis\/portcullis\.env\n/).count == 2)
        #expect(rules.contains(" debian/portcullis/etc/portcullis/portcullis.env\n"))
        let settings = try Repository.text("config/debian/settings")
        let audit = try #require(settings.firstMatch(of: /\nAUDIT_LOG_PATH=(.+)\n/)?.1)
        #expect(try Repository.text("config/debian/portcullis.logrotate").hasPrefix("\(audit) {\n"))
        for path in settings.matches(of: /(?m)^[A-Z_]+_PATH=(.+)$/) {
            #expect(path.1.contains(/^\/(etc|run|var\/lib|var\/log)\/portcullis\//), "\(path.1)")
        }
    }

    /// Its user can check the settings before the first start, and after a stop.
    @Test func `makes the folder of the control socket as the unit does`() throws {
        let mode = try #require(unit.firstMatch(of: /\nRuntimeDirectoryMode=(\d+)\n/)?.1)
        let made = try Repository.text("config/debian/portcullis.tmpfiles")
        #expect(made.contains("\nd /run/portcullis \(mode) portcullis portcullis -\n"))
        #expect(unit.contains("\nRuntimeDirectoryPreserve=yes\n"))
    }

    /// The files of a folder that `scripts/package` copies to a place.
    private func copied(from folder: String, to place: String) throws -> Set<String> {
        let line = try #require(
            try Repository.text("scripts/package").split(separator: "\n").first {
                $0.hasPrefix("cp ") && $0.hasSuffix(" \"$tree/files/\(place)/\"")
            })
        let endings = line.split(separator: " ").filter { $0.hasPrefix("\(folder)/*") }.map {
            $0.dropFirst(folder.count + 2)
        }
        let path = Repository.root.appendingPathComponent(folder).path
        let files = try FileManager.default.contentsOfDirectory(atPath: path)
        return Set(files.filter { file in endings.contains { file.hasSuffix($0) } })
    }

    /// Somebody who has the package alone finds what a message tells him to read.
    @Test func `has every document and every example that a message names`() throws {
        let (documents, examples) = (
            try copied(from: "docs", to: "docs"), try copied(from: "config", to: "examples")
        )
        let texts = Repository.sources.flatMap { source in
            source.text.split(separator: "\n").filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") }
        }.joined(separator: "\n")
        let named = Set(texts.matches(of: /docs\/([A-Z-]+\.md)/).map { String($0.1) })
        #expect(named.count >= 5 && named.subtracting(documents).isEmpty, "\(named.subtracting(documents))")
        let files = Set(texts.matches(of: /config\/([a-z-]+\.(?:sql|yml|env\.example))\b/).map { String($0.1) })
        #expect(files.contains("postgresql-roles.sql") && files.subtracting(examples).isEmpty)
        for file in ["haproxy.cfg.example", "nginx.conf.example", "Caddyfile.example"] {
            #expect(examples.contains(file))
        }
    }

    @Test func `says in the manual page with what the program ends, and what signals it takes`() throws {
        let page = try Repository.text("config/debian/portcullis.1")
        let status = try #require(page.split(separator: ".SH EXIT STATUS\n").last?.split(separator: ".SH ").first)
        let listed = Set(status.matches(of: /(?m)^\.B (\d+)$/).map { String($0.1) })
        let program = Repository.sources.filter { $0.path.hasPrefix("Sources/Gateway/portcullis/") }.map(\.text)
            .joined()
        let used = program.matches(of: /(?:[Ee]xit(?:Code)?\(|let attention: Int32 = )(\d+)/).map { String($0.1) }
        #expect(Set(used).union(["0", "1"]) == listed && listed.count >= 5, "\(used), \(listed)")
        let service = try Repository.text("Sources/Gateway/GatewayServer/GatewayService.swift")
        for signal in ["sighup", "sigusr2", "sigterm", "sigint"] {
            #expect(service.contains(".\(signal)") && page.contains(signal.uppercased()), "\(signal)")
        }
        for word in ["\\-\\-socket", "\\-\\-env\\-file", "PORTCULLIS_ENV_FILE"] {
            #expect(page.contains(word), "\(word)")
        }
    }

    @Test func `says in the manual page which commands take a store`() throws {
        let page = try Repository.text("config/debian/portcullis.1").replacing("\\-", with: "-")
        let entry = try #require(page.split(separator: ".BI --store ").last?.split(separator: ".TP").first)
        let line = try #require(entry.split(separator: "\n").first { $0.hasPrefix(".BR ") })
        let listed = line.matches(of: /[a-z]+(?:-[a-z]+)*/).map { String($0.0) }.filter { $0 != "and" }
        let commands = Repository.sources.filter {
            $0.path.hasPrefix("Sources/Gateway/portcullis/") && $0.text.contains("var store: String?")
        }.compactMap { $0.text.firstMatch(of: /commandName: "([a-z-]+)"/).map { String($0.1) } }
        #expect(Set(listed) == Set(commands) && commands.count >= 5, "\(listed), \(commands)")
    }

    @Test func `has completions and a manual page for each program`() throws {
        let script = try Repository.text("scripts/package")
        #expect(script.contains("for shell in bash zsh fish;"))
        let control = try Repository.text("config/debian/control")
        for program in ["portcullis", "portcullis-sim"] {
            #expect(control.contains("\nPackage: \(program)\n"))
            #expect(rules.contains(" debian/\(program)/usr/bin/\(program)\n"))
            #expect(try Repository.text("config/debian/\(program).1").contains("\n@COMMANDS@\n"))
        }
        for place in ["bash-completion/completions", "zsh/vendor-completions", "fish/vendor_completions.d"] {
            #expect(rules.contains("$$share/\(place)/"))
        }
    }

    /// The package installs these into the folder from which the guide copies them.
    @Test func `has the examples that the guide copies`() throws {
        let packaged = try copied(from: "config", to: "examples")
        let guide = try ["docs/GETTING-STARTED.md", "docs/RUNNING.md", "docs/FLEET.md", "config/debian/settings"]
            .map(Repository.text).joined(separator: "\n")
        let path = /\/usr\/share\/doc\/portcullis\/examples\/([A-Za-z.-]+[a-z])/
        let named = guide.matches(of: path).map { String($0.1) }
        #expect(named.count >= 4)
        #expect(Set(named).subtracting(packaged).isEmpty)
    }

    /// The image installs the package, and so its dependencies. Recommendations are left out there.
    @Test func `gives the image what the package only recommends, as far as an image needs it`() throws {
        let control = try Repository.text("config/debian/control")
        let dependencies = try #require(control.firstMatch(of: /\nDepends: (.+)\n/)?.1)
        #expect(dependencies.contains("libwebsockets-evlib-uv") && dependencies.contains("${shlibs:Depends}"))
        #expect(control.contains("\nRecommends: ca-certificates, logrotate, openssl\n"))
        #expect(container.contains(" ca-certificates /tmp/portcullis.deb "))
        #expect(container.contains("\nFROM docker.io/library/debian:12-slim\n"))
    }
}
