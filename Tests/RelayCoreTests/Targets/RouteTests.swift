import Telnet
import Testing

@testable import RelayCore

struct RouteTests {
    private func routes(_ text: String) throws(TargetFaults) -> [Route] {
        try Route.list(text, methods: allMethods) { ["utf-8", "latin1"].contains($0) }
    }

    private func faults(_ text: String) -> [TargetFaults.Entry] {
        do throws(TargetFaults) {
            _ = try routes(text)
            return []
        } catch {
            return error.entries
        }
    }

    @Test func `routes are separated by semicolons, blanks and line ends`() throws {
        let routes = try routes("; a=one.example:1;b=two.example:2 \n\tc-3_=[2001:db8::1]:3;;\r\n")
        #expect(routes.map(\.name) == ["a", "b", "c-3_"])
        #expect(routes.map(\.endpoint.text) == ["one.example:1", "two.example:2", "[2001:db8::1]:3"])
        #expect(routes.allSatisfy { $0.options == RouteOptions() })
        #expect(try self.routes(" ; \n") == [])
    }

    @Test func `every option is read`() throws {
        let options = try routes(
            "a=m.example:1,mxp=strip,mccp=off,encoding=latin1,compression=on,tls=required,proxy=v2,admit=cert+ticket"
        )
        .first?.options
        #expect(
            options
                == RouteOptions(
                    encoding: "latin1", tls: .required, proxy: .v2, mxp: .strip, mccp: .off, compression: .on,
                    admit: RouteAdmission(methods: ["cert", "ticket"])))
        for mode in TargetTLSMode.allCases { #expect(try routes("a=m:1,tls=\(mode)")[0].options.tls == mode) }
        for header in TargetProxyHeader.allCases {
            #expect(try routes("a=m:1,proxy=\(header)")[0].options.proxy == header)
        }
        for mccp in MCCPMode.allCases { #expect(try routes("a=m:1,mccp=\(mccp)")[0].options.mccp == mccp) }
        for mxp in MXPMode.allCases { #expect(try routes("a=m:1,mxp=\(mxp)")[0].options.mxp == mxp) }
        for way in allMethods { #expect(try routes("a=m:1,admit=\(way)")[0].options.admit?.methods == [way]) }
        #expect(try routes("a=m:1,admit=any")[0].options.admit == .any)
    }

    @Test(
        arguments: [
            ("a", .routeForm), ("a:1", .routeForm), ("=m:1", .routeName), ("A=m:1", .routeName), ("-a=m:1", .routeName),
            ("a.b=m:1", .routeName), ("ä=m:1", .routeName), ("a=m", .portMissing), ("a=:1", .host), ("a=m:0", .port),
            ("a=m:1,", .optionForm),
            ("a=m:1,tls", .optionForm), ("a=m:1,tls=", .optionValue("tls")), ("a=m:1,tls=TLS", .optionValue("tls")),
            ("a=m:1,colour=red", .unknownOption("colour")), ("a=m:1,tls=plain,tls=plain", .repeatedOption("tls")),
            ("a=m:1,encoding=klingon", .optionValue("encoding")), ("a=m:1,proxy=v3", .optionValue("proxy")),
            ("a=m:1,mxp=eat", .optionValue("mxp")), ("a=m:1,mccp=2", .optionValue("mccp")),
            ("a=m:1,mccp=off,mccp=off", .repeatedOption("mccp")), ("a=m:1,admit=", .admitValue(allMethods)),
            ("a=m:1,admit=app+", .admitValue(allMethods)),
            ("a=m:1,admit=app+app", .admitValue(allMethods)), ("a=m:1,admit=app+any", .admitValue(allMethods)),
            ("a=m:1,admit=root", .admitValue(allMethods)),
        ] as [(String, TargetFault)]) func `a faulty route is a fault and isn't skipped`(
            text: String, fault: TargetFault
        )
    {
        #expect(faults(text) == [.init(number: 1, fault: fault)])
        #expect(!fault.description.isEmpty)
    }

    @Test func `all faults are reported at once, with the number of their entry`() {
        #expect(
            faults("a=m:1;b=m;c=m:2;d=m:3,tls=no;a=m:9") == [
                .init(number: 2, fault: .portMissing), .init(number: 4, fault: .optionValue("tls")),
                .init(number: nil, fault: .repeatedRoute("a")),
            ])
    }

    @Test func `a name has at most 32 bytes`() throws {
        let name = String(repeating: "n", count: Route.maximumNameBytes)
        #expect(try routes(name + "=m:1").count == 1)
        #expect(faults(name + "n=m:1") == [.init(number: 1, fault: .routeName)])
    }

    @Test func `there are at most 256 routes`() throws {
        func many(_ count: Int) -> String { (0..<count).map { "r\($0)=m:1" }.joined(separator: "\n") }
        #expect(try routes(many(Route.maximumCount)).count == 256)
        #expect(faults(many(Route.maximumCount + 1)) == [.init(number: nil, fault: .tooManyRoutes)])
    }

    @Test func `targets are listed with their ports, and never twice`() throws {
        #expect(try TargetList.targets("a:1, b:2\n127.1:3").map(\.text) == ["a:1", "b:2", "127.0.0.1:3"])
        #expect(throws: TargetFaults.self) { try TargetList.targets("a:1,b") }
        #expect(throws: TargetFaults(entries: [.init(number: nil, fault: .repeatedTarget("a:1"))])) {
            try TargetList.targets("a:1,A.:1")
        }
        #expect(throws: TargetFaults(entries: [.init(number: 1, fault: .host), .init(number: 2, fault: .portMissing)]))
        {
            try TargetList.targets("*.example:1 b")
        }
    }

    @Test func `there are at most 10000 targets`() throws {
        func many(_ count: Int) -> String { (0..<count).map { "h\($0):1" }.joined(separator: ",") }
        #expect(try TargetList.targets(many(10_000)).count == TargetList.maximumCount)
        #expect(throws: TargetFaults(entries: [.init(number: nil, fault: .tooManyTargets)])) {
            try TargetList.targets(many(10_001))
        }
    }

    @Test func `ports are single or ranges`() throws {
        #expect(try TargetList.ports("23, 4000-4999 65535") == [23...23, 4_000...4_999, 65_535...65_535])
        for text in ["0", "1-", "-1", "5-4", "1-2-3", "x", "65536", "1-70000", "01"] {
            #expect(throws: TargetFaults(entries: [.init(number: 1, fault: .portRange)])) { try TargetList.ports(text) }
        }
    }
}

/// The names of the admission methods in routes.
let allMethods = ["app", "cert", "ticket", "anonymous"]
