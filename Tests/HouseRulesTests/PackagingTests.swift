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
        #expect(Set(ofPackage + ofImage).subtracting(known).isEmpty)
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

    /// The package installs these into the folder from which the guide copies them.
    @Test func `has the examples that the guide copies`() throws {
        let script = try Repository.text("scripts/package")
        let list = try #require(script.firstMatch(of: /\ncp config\/\{(.+)\} "\$tree\/files\/examples\/"\n/)?.1)
        let packaged = Set(list.split(separator: ",").map(String.init))
        let guide = try Repository.text("docs/OPERATIONS.md") + Repository.text("config/debian/settings")
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
