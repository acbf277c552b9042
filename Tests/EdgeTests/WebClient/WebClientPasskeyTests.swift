import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Players sign in on the page, with authenticators of Chromium.
    @Suite struct WebClientPasskeyTests {
        @Test(arguments: VirtualAuthenticator.Transport.allCases)
        func `a player makes a passkey while playing, and comes back with it`(
            transport: VirtualAuthenticator.Transport
        ) async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            let authenticator = try await page.addAuthenticator(transport)
            try await house.play(on: page)
            #expect(try await page.text("String(\(PasskeyPanel.isOpen))") == "false")
            try await PasskeyPanel.makePasskey(on: page)
            let credentials = try await page.credentials(of: authenticator)
            #expect(credentials.count == 1 && credentials[0].isDiscoverable)
            #expect(credentials.first?.relyingPartyID == "localhost")
            // The session goes on, and has a next ticket again in place of the one that the passkey was made with.
            try await WebPage.connected(page)
            try await page.wait(until: "sessionStorage.getItem('next') !== null")
            try await house.target.connection().send("You are still here.")
            try await WebPage.shown("You are still here.", on: page)

            try await page.touch(authenticator, false)
            try await house.comeBack(on: page)
            try await page.wait(until: "\(WebPage.status).includes('no admission') && \(PasskeyPanel.isOpen)")
            try await page.touch(authenticator, true)
            try await page.click("#sign-in")
            try await WebPage.connected(page)
            try await house.target.connection(1).send("Welcome back.")
            try await WebPage.shown("Welcome back.", on: page)
            #expect(try await page.text("String(\(PasskeyPanel.isOpen))") == "false")
            #expect(try await page.text("location.href") == house.address, "no ticket stays in the address bar")
            #expect(house.target.connectionCount == 2)
            try await house.gateway.auditLine("sign-in", "admitted")
            #expect(page.complaints == [])
        }

        /// The browser's list in the field: Chromium's authenticator chooses from it at once.
        @Test func `autofill signs in without a click`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            _ = try await page.addAuthenticator(.platform)
            try await house.signIn(on: page)
            #expect(try await page.text("String(\(PasskeyPanel.isSignedIn))") == "true")
            #expect(try await page.text("document.getElementById('passkey').autocomplete") == "username webauthn")
            #expect(page.complaints == [])
        }

        @Test func `a reload needs no passkey while the sign-in lasts, and a sign-out ends that`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            let authenticator = try await page.addAuthenticator(.platform)
            try await house.signIn(on: page)
            try await page.remove(authenticator)
            _ = try await page.text("['next', 'ticket'].forEach(name => sessionStorage.removeItem(name)), 'done'")
            try await page.reload()
            try await WebPage.connected(page)
            try await page.click("#passkeys summary")
            try await page.wait(until: "!\(PasskeyPanel.isHidden("sign-out"))")
            try await page.click("#sign-out")
            try await page.wait(until: "!\(PasskeyPanel.isHidden("sign-in"))")
            #expect(try await page.text("String(\(PasskeyPanel.isSignedIn))") == "false")
            #expect(page.complaints == [])
        }

        @Test func `the key for proofs can't leave the browser`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            _ = try await page.addAuthenticator(.platform)
            try await house.signIn(on: page)
            let key = """
                new Promise(resolve => {
                  const opening = indexedDB.open("portcullis", 1);
                  opening.onsuccess = () => {
                    const asked = opening.result.transaction("keys").objectStore("keys").get("proofs");
                    asked.onsuccess = async () => {
                      const { privateKey: key } = asked.result;
                      opening.result.close();
                      const exported = await crypto.subtle.exportKey("jwk", key).then(() => "exported", e => e.name);
                      resolve([key.algorithm.name, key.algorithm.namedCurve, key.usages, exported].join(" "));
                    };
                  };
                })
                """
            #expect(try await page.text(key) == "ECDSA P-256 sign InvalidAccessError")
            #expect(page.complaints == [])
        }

        @Test func `an authenticator that doesn't verify its user makes no passkey`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            let authenticator = try await page.addAuthenticator(.platform, verifies: false)
            try await house.play(on: page)
            try await page.click("#make-passkey")
            try await PasskeyPanel.says("No passkey was used.", on: page)
            #expect(try await page.credentials(of: authenticator).isEmpty)
            // A page that doesn't ask for it makes one, which the gateway refuses.
            try await page.remove(authenticator)
            let other = try await page.addAuthenticator(.roaming, canVerify: false, verifies: false)
            _ = try await page.text(
                """
                (() => {
                  const read = PublicKeyCredential.parseCreationOptionsFromJSON.bind(PublicKeyCredential);
                  PublicKeyCredential.parseCreationOptionsFromJSON = options => read({ ...options,
                    authenticatorSelection: { residentKey: "discouraged", userVerification: "discouraged" } });
                  return "done";
                })()
                """)
            try await page.wait(until: "sessionStorage.getItem('next') !== null")
            try await page.click("#make-passkey")
            try await PasskeyPanel.says("The passkey was not accepted.", on: page)
            #expect(try await page.credentials(of: other).count == 1)
            try await house.gateway.logLine("passkey_rejected")
            #expect(page.complaints == [])
        }

        @Test func `an account has two passkeys, and each can be removed`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            let platform = try await page.addAuthenticator(.platform)
            try await house.signIn(on: page)
            try await page.click("#passkeys summary")
            try await page.wait(until: "\(PasskeyPanel.own).children.length === 1")

            // The first one signs for the second, which another authenticator makes.
            let roaming = try await page.addAuthenticator(.roaming, isTouched: false)
            try await PasskeyPanel.stop("create", on: page)
            let label = "<img src=x onerror=alert(1)>"
            _ = try await page.text(
                "document.getElementById('passkey-label').value = \(WebPage.quoted(label)), 'done'")
            try await page.click("#make-passkey")
            try await PasskeyPanel.stopped(on: page)
            try await page.touch(platform, false)
            try await page.touch(roaming, true)
            try await PasskeyPanel.goOn(on: page)
            try await PasskeyPanel.says("The passkey is made.", on: page)
            try await page.wait(until: "\(PasskeyPanel.own).children.length === 2")
            #expect(try await page.text("\(PasskeyPanel.own).textContent").contains("“\(label)”"))

            // The platform's confirms that the second one goes.
            try await page.touch(roaming, false)
            try await page.touch(platform, true)
            let second = try #require(try await page.credentials(of: roaming).first)
            try await PasskeyPanel.remove("“\(label)”", on: page)
            try await page.wait(until: "\(PasskeyPanel.own).children.length === 1")
            try await page.waitUntilDeleted(second)
            try await page.remove(roaming)

            // The session ends with the passkey that it began with, and so does the sign-in.
            let first = try #require(try await page.credentials(of: platform).first)
            try await PasskeyPanel.remove("Passkey", on: page)
            try await page.wait(until: "\(WebPage.status).includes('Disconnected')")
            try await page.wait(until: "!\(PasskeyPanel.isHidden("sign-in"))")
            try await page.waitUntilDeleted(first)
            #expect(try await page.credentials(of: platform).isEmpty)

            // An authenticator that has it nevertheless is told that it is of no use.
            let mark = try await Self.signIn(with: first, on: page, platform)
            try await PasskeyPanel.says("No account has this passkey any more.", on: page)
            try await page.waitUntilDeleted(first, since: mark)
            #expect(page.complaints == [])
        }

        /// What the page has told its browser of a removed passkey may come late, and take away one that was put back:
        /// then it is put back once more.
        ///
        /// - Returns: where the events of the sign-in begin.
        private static func signIn(
            with credential: VirtualCredential, on page: BrowserPage, _ authenticator: VirtualAuthenticator
        ) async throws -> Int {
            for _ in 0..<5 {
                let mark = page.eventCount
                try await page.put(credential, back: authenticator)
                _ = try await page.text("\(PasskeyPanel.status) = ''")
                try await page.click("#sign-in")
                try await page.wait(until: "!['', 'Signing in…'].includes(\(PasskeyPanel.status))")
                let isUnused = try await page.text(PasskeyPanel.status) == "No passkey was used."
                let isGone = try await page.credentials(of: authenticator).isEmpty
                guard isUnused && isGone else { return mark }
            }
            throw CancellationError()
        }

        @Test func `an authenticator makes one passkey of an account`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            let authenticator = try await page.addAuthenticator(.platform)
            try await house.signIn(on: page)
            try await page.click("#make-passkey")
            try await PasskeyPanel.says("This device has a passkey of your account already.", on: page)
            #expect(try await page.credentials(of: authenticator).count == 1)
            #expect(page.complaints == [])
        }

        /// Its challenge doesn't stand for the device, so the page shows a second ticket of the same device.
        @Test func `a page that a device has given its ticket makes a passkey, too`() async throws {
            let apple = try SimulatedApple()
            let house = try await PasskeyHouse { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: house.gateway)
            let page = try await house.page()
            _ = try await page.addAuthenticator(.platform)
            let ticket: String = try #require(try await house.gateway.ticket(for: device))
            try await house.signIn(on: page, ticket: ticket)
            #expect(page.complaints == [])
        }

        @Test func `a visitor without a ticket is told what a first passkey needs`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            let authenticator = try await page.addAuthenticator(.platform)
            try await page.open(house.address)
            try await page.wait(until: PasskeyPanel.isOpen)
            try await page.click("#make-passkey")
            try await PasskeyPanel.says(
                "For the first passkey open the page with a new ticket, and try again.", on: page)
            #expect(try await page.credentials(of: authenticator).isEmpty)
            let nodes = try await page.accessibilityNodes()
            for (role, name) in [
                ("textbox", "Your passkey"), ("button", "Sign in with a passkey"), ("button", "Make a passkey"),
            ] {
                #expect(nodes.contains { $0.role == role && $0.name == name }, "\(role) \(name)")
            }
            #expect(page.complaints == [])
        }

        @Test func `where no accounts are made the page offers the sign-in alone`() async throws {
            let house = try await PasskeyHouse { $0.setting("ACCOUNT_SIGN_UP", "off") }
            let page = try await house.page()
            try await page.open(house.address)
            try await page.wait(until: "\(PasskeyPanel.isOpen) && \(PasskeyPanel.isHidden("make-passkey"))")
            #expect(try await page.text("String(\(PasskeyPanel.isHidden("sign-in")))") == "false")
            #expect(page.complaints == [])
        }
    }
}
