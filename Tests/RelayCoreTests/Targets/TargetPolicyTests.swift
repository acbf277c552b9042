import Testing
import WireText

@testable import RelayCore

struct TargetPolicyTests {
    private func settings(_ mode: TargetMode) throws -> TargetSettings {
        TargetSettings(
            mode: mode, standard: try TargetEndpoint("127.0.0.1:4000"),
            routes: try Route.list(
                "staging=10.0.0.5:4001,tls=required,admit=cert live=live.example:23 twin=live.example:23,tls=plain",
                methods: allMethods
            ) { _ in true },
            allowed: mode == .fixed
                ? [] : [try TargetEndpoint("192.168.1.1:7777"), try TargetEndpoint("listed.example:5000")],
            ports: mode == .arbitrary ? [23...23, 4_000...4_999] : [])
    }

    private func policy(_ mode: TargetMode, changing change: (inout TargetSettings) -> Void = { _ in }) throws
        -> TargetPolicy
    {
        var settings = try settings(mode)
        change(&settings)
        return try TargetPolicy(settings)
    }

    private func target(_ decision: TargetDecision) -> String? {
        guard case .authorized(let target) = decision else { return nil }
        return TargetEndpoint(host: target.host, port: target.port).text + (target.mustBePublic ? " if public" : "")
    }

    @Test(arguments: TargetMode.allCases) func `default target and routes are open in every mode`(mode: TargetMode)
        throws
    {
        let policy = try policy(mode)
        #expect(target(policy.authorize(.standard, for: "app")) == "127.0.0.1:4000")
        #expect(target(policy.authorize(.route("live"), for: "app")) == "live.example:23")
        #expect(target(policy.authorize(.address(host: "LIVE.example.", port: 23), for: "app")) == "live.example:23")
        #expect(target(policy.authorize(.address(host: "0x7f.1", port: 4_000), for: "app")) == "127.0.0.1:4000")
        for name in ["nowhere", "", "LIVE", "live "] {
            #expect(policy.authorize(.route(name), for: "app") == .refused(.unknownRoute))
        }
    }

    @Test func `fixed maps every address to the default target`() throws {
        let policy = try policy(.fixed)
        for (host, port) in [
            ("other.example", UInt16(23)), ("10.0.0.1", 22), ("127.0.0.1", 22), ("not a host", 1), ("mud.example", 0),
        ] {
            #expect(target(policy.authorize(.address(host: host, port: port), for: "app")) == "127.0.0.1:4000")
        }
    }

    @Test func `an allowlist allows exactly its entries`() throws {
        let policy = try policy(.allowlist)
        #expect(
            target(policy.authorize(.address(host: "Listed.Example", port: 5_000), for: "app")) == "listed.example:5000"
        )
        #expect(target(policy.authorize(.address(host: "192.168.257", port: 7_777), for: "app")) == "192.168.1.1:7777")
        for (host, port) in [
            ("listed.example", UInt16(5_001)), ("sub.listed.example", 5_000), ("listed.example.evil.example", 5_000),
            ("192.168.1.1", 22),
            ("::ffff:192.168.1.1", 7_777), ("8.8.8.8", 23),
        ] {
            #expect(policy.authorize(.address(host: host, port: port), for: "app") == .refused(.notListed), "\(host)")
        }
        #expect(policy.authorize(.address(host: "not a host", port: 1), for: "app") == .refused(.malformedHost))
        #expect(policy.authorize(.address(host: "listed.example", port: 0), for: "app") == .refused(.malformedHost))
    }

    @Test func `arbitrary allows public hosts at listed ports`() throws {
        let policy = try policy(.arbitrary)
        #expect(
            target(policy.authorize(.address(host: "any.example", port: 4_999), for: "app"))
                == "any.example:4999 if public")
        #expect(target(policy.authorize(.address(host: "8.8.8.8", port: 23), for: "app")) == "8.8.8.8:23 if public")
        #expect(policy.authorize(.address(host: "any.example", port: 5_000), for: "app") == .refused(.portNotListed))
        #expect(policy.authorize(.address(host: "any.example", port: 22), for: "app") == .refused(.portNotListed))
        for host in ["127.1", "10.0.0.5", "[::1]", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2852039166"] {
            #expect(
                policy.authorize(.address(host: host, port: 23), for: "app") == .refused(.reservedAddress), "\(host)")
        }
        for host in ["", "fe80::1%eth0", "münchen.de", "1.2.3.4.5"] {
            #expect(policy.authorize(.address(host: host, port: 23), for: "app") == .refused(.malformedHost), "\(host)")
        }
    }

    @Test func `a name's addresses must be public unless the operator named it`() throws {
        let policy = try policy(.arbitrary)
        let cases: [(TargetRequest, Bool)] = [
            (.address(host: "rebinding.example", port: 23), false), (.standard, true), (.route("live"), true),
            (.address(host: "listed.example", port: 5_000), true),
        ]
        for (request, mayBePrivate) in cases {
            guard case .authorized(let target) = policy.authorize(request, for: "app") else {
                Issue.record("\(request) is refused")
                continue
            }
            #expect(target.mayDial([8, 8, 8, 8]))
            #expect(target.mayDial([127, 0, 0, 1]) == mayBePrivate)
            #expect(target.mayDial([UInt8](repeating: 0, count: 15) + [1]) == mayBePrivate)
            #expect(target.mayDial([]) == mayBePrivate)
        }
    }

    @Test(arguments: TargetMode.allCases) func `a route refuses other admission methods, by name and by address`(
        mode: TargetMode
    ) throws {
        let policy = try policy(mode)
        for request in [TargetRequest.route("staging"), .address(host: "10.0.0.5", port: 4_001)] {
            #expect(policy.decide(request).methods == ["cert"])
            for way in allMethods {
                let decision = policy.authorize(request, for: way)
                #expect(way == "cert" ? target(decision) == "10.0.0.5:4001" : decision == .refused(.wayNotAllowed))
            }
        }
        #expect(policy.decide(.standard).methods == nil)
        #expect(policy.decide(.route("nowhere")).methods == nil)
    }

    @Test func `a route gives the target its name and options, and the first of several routes counts`() throws {
        let policy = try policy(.allowlist)
        guard case .authorized(let staging) = policy.authorize(.route("staging"), for: "cert"),
            case .authorized(let live) = policy.authorize(.address(host: "live.example", port: 23), for: "app")
        else {
            Issue.record("refused")
            return
        }
        #expect(staging.route == "staging")
        #expect(staging.options.tls == .required)
        #expect(live.route == "live")
        #expect(live.options == RouteOptions())
    }

    @Test(arguments: TargetMode.allCases) func `without a default target there is no fallback`(mode: TargetMode)
        throws
    {
        let policy = try policy(mode) { $0.standard = nil }
        #expect(policy.authorize(.standard, for: "app") == .refused(.noDefaultTarget))
        let elsewhere = policy.authorize(.address(host: "127.0.0.1", port: 4_000), for: "app")
        let expected: [TargetMode: TargetRefusal] = [
            .fixed: .noDefaultTarget, .allowlist: .notListed, .arbitrary: .reservedAddress,
        ]
        #expect(elsewhere == expected[mode].map(TargetDecision.refused))
    }

    @Test func `settings that are unsafe or without effect are faults, all reported at once`() throws {
        func faults(_ mode: TargetMode, changing change: (inout TargetSettings) -> Void) throws -> [TargetFault] {
            var settings = try self.settings(mode)
            change(&settings)
            do throws(TargetFaults) {
                _ = try TargetPolicy(settings)
                return []
            } catch {
                return error.entries.map(\.fault)
            }
        }
        #expect(try faults(.allowlist) { $0.allowed = [] } == [.allowlistEmpty])
        #expect(try faults(.fixed) { $0.allowed = [TargetEndpoint(host: .name("a"), port: 1)] } == [.allowlistUnused])
        #expect(try faults(.fixed) { $0.ports = [1...2] } == [.portsUnused])
        #expect(try faults(.arbitrary) { $0.ports = [] } == [.portsEmpty])
        #expect(
            try faults(.arbitrary) {
                $0.ports = []
                $0.requiresCredentials = false
            } == [.portsEmpty, .arbitraryWithoutCredentials])
        for mode in TargetMode.allCases { #expect(try faults(mode) { _ in } == []) }
    }

    /// By another name of its host the route would be a target like any other.
    @Test(arguments: [
        ("a=h.example:4000,admit=cert", ["a"]), ("a=8.8.8.8:4999,admit=app+cert+ticket", ["a"]),
        ("a=h.example:23,admit=app b=[2606:4700::1]:23,admit=ticket", ["a", "b"]),
        ("a=h.example:5000,admit=cert", []), ("a=h.example:3999,admit=cert", []), ("a=h.example:4000", []),
        ("a=h.example:4000,admit=any", []), ("a=h.example:4000,admit=app+cert+ticket+anonymous", []),
        // By no name does a client reach these.
        ("a=10.0.0.5:4000,admit=cert", []), ("a=[::1]:4000,admit=cert", []),
    ]) func `where clients choose the host, a restricted route needs its own port`(
        routes: String, names: [String]
    ) throws {
        for mode in TargetMode.allCases {
            var settings = try settings(mode)
            settings.routes = try Route.list(routes, methods: allMethods) { _ in true }
            do throws(TargetFaults) {
                _ = try TargetPolicy(settings)
                #expect(mode != .arbitrary || names == [])
            } catch {
                #expect(mode == .arbitrary)
                #expect(error.entries.map(\.fault) == names.map { .routeOpenByPort($0) })
            }
        }
    }

    @Test func `a target that the operator named isn't a client's choice, however it is requested`() throws {
        for mode in TargetMode.allCases {
            let policy = try policy(mode)
            for request in [
                TargetRequest.standard, .route("live"), .address(host: "live.example", port: 23),
                .address(host: "127.0.0.1", port: 4_000), .address(host: "listed.example", port: 5_000),
            ] {
                guard case .authorized(let target) = policy.authorize(request, for: "app") else {
                    Issue.record("\(request) is refused")
                    continue
                }
                #expect(!target.isClientsChoice, "\(request)")
            }
        }
        guard
            case .authorized(let target) = try policy(.arbitrary).authorize(
                .address(host: "a.example", port: 23), for: "app")
        else {
            Issue.record("refused")
            return
        }
        #expect(target.isClientsChoice)
    }

    @Test func `a client gets the same text for every reason`() {
        #expect(TargetRefusal.message == "Target not allowed")
        #expect(Set(TargetRefusal.allCases.map(\.rawValue)).count == TargetRefusal.allCases.count)
    }

    @Test func `a client limited to routes reaches no other target`() throws {
        let policy = try policy(.fixed)
        for (request, isOpen) in [
            (TargetRequest.route("live"), true), (.address(host: "live.example", port: 23), true),
            (.route("twin"), false),
            (.standard, false), (.address(host: "mud.example", port: 4_000), false), (.route("nowhere"), false),
        ] {
            let decision = policy.authorize(request, for: "app")
            #expect(decision.limited(to: nil) == decision)
            #expect((decision.limited(to: ["live"]) == decision && target(decision) != nil) == isOpen, "\(request)")
            #expect(target(decision.limited(to: [])) == nil)
        }
    }
}
