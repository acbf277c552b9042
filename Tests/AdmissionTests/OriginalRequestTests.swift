import Testing

@testable import Admission

@Suite("The request that a proxy asks about")
struct OriginalRequestTests {
    private typealias Fault = OriginalRequest.Fault

    private func read(
        _ fields: [(String, String)], path: String = "", method: String = "GET"
    ) -> Result<OriginalRequest, Fault> {
        Result { () throws(Fault) in
            try OriginalRequest(path: path, ownMethod: method) { name in
                fields.filter { $0.0 == name }.map(\.1)
            }
        }
    }

    private func outcome(_ fields: [(String, String)], path: String = "", method: String = "GET") -> String {
        switch read(fields, path: path, method: method) {
        case .success(let request): "\(request.method) \(request.url)"
        case .failure(let fault): "\(fault)"
        }
    }

    private let nginx = [("x-original-method", "PUT"), ("x-original-url", "https://a.example:8443/p?q=1")]
    private let caddy = [
        ("x-forwarded-method", "PUT"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "a.example:8443"),
        ("x-forwarded-uri", "/p?q=1"),
    ]
    private let envoy = [("host", "a.example:8443"), ("x-forwarded-proto", "https")]

    @Test func `is read in the form of each proxy`() {
        let expected = "PUT https://a.example:8443/p?q=1"
        #expect(outcome(nginx) == expected)
        #expect(outcome(caddy) == expected)
        #expect(outcome(envoy, path: "/p?q=1", method: "PUT") == expected)
        // nginx passes on what its own proxies have said; only the fields that name a request make a form.
        #expect(outcome(nginx + [("x-forwarded-proto", "http"), ("x-forwarded-host", "b")]) == expected)
    }

    @Test(arguments: ["x-original-method", "x-original-url"])
    func `isn't read if a client has added nginx's form`(name: String) {
        #expect(outcome(caddy + [(name, "GET")]) == "\(Fault.ambiguous)")
        #expect(outcome(envoy + [(name, "GET")], path: "/p") == "\(Fault.ambiguous)")
    }

    @Test(arguments: ["x-forwarded-method", "x-forwarded-uri"])
    func `isn't read if a client has added the common form`(name: String) {
        #expect(outcome(nginx + [(name, "GET")]) == "\(Fault.ambiguous)")
        #expect(outcome(envoy + [(name, "GET")], path: "/p") == "\(Fault.ambiguous)")
    }

    @Test func `isn't read without each of its fields, or with one twice`() {
        for (form, path) in [(nginx, ""), (caddy, ""), (envoy, "/p")] {
            for index in form.indices {
                var fewer = form
                fewer.remove(at: index)
                #expect(outcome(fewer, path: path) == "\(Fault.missing(form[index].0))")
                #expect(outcome(form + [form[index]], path: path) == "\(Fault.repeated(form[index].0))")
            }
        }
        #expect(outcome([]) == "\(Fault.absent)")
        #expect(outcome([("x-forwarded-proto", "https"), ("x-forwarded-host", "a")]) == "\(Fault.absent)")
    }

    @Test func `isn't read with a host that contains a path, or with an invalid scheme`() {
        func caddy(_ name: String, _ value: String) -> String {
            outcome(self.caddy.map { $0.0 == name ? (name, value) : $0 })
        }
        for host in ["", "a/b", "a?b", "a#b", "user@a", "a b", "a,b", "a\\b", "a%2f"] {
            #expect(caddy("x-forwarded-host", host) == "\(Fault.malformed("x-forwarded-host"))", "\(host)")
        }
        for scheme in ["", "ftp", "HTTPS", "https, http", "https:"] {
            #expect(caddy("x-forwarded-proto", scheme) == "\(Fault.malformed("x-forwarded-proto"))", "\(scheme)")
        }
        for path in ["", "p", "*", "https://b.example/p", "/p q", "/p\u{e9}"] {
            #expect(caddy("x-forwarded-uri", path) == "\(Fault.malformed("x-forwarded-uri"))", "\(path)")
        }
        for method in ["", "GET POST", "GÉT", String(repeating: "A", count: 33)] {
            #expect(caddy("x-forwarded-method", method) == "\(Fault.malformed("x-forwarded-method"))", "\(method)")
        }
        #expect(caddy("x-forwarded-proto", "wss") == "PUT https://a.example:8443/p?q=1")
        #expect(caddy("x-forwarded-proto", "ws") == "PUT http://a.example:8443/p?q=1")
        #expect(caddy("x-forwarded-host", "[::1]:80") == "PUT https://[::1]:80/p?q=1")
        for url in ["", "/p", "a.example/p", "ftp://a/p", "https://a/p q"] {
            let fields = [("x-original-method", "GET"), ("x-original-url", url)]
            #expect(outcome(fields) == "\(Fault.malformed("x-original-url"))", "\(url)")
        }
    }

    @Test func `isn't read when its URL or its method is longer than the limit`() {
        func nginx(_ method: Int, _ url: Int) -> String {
            let prefix = "https://a/"
            return outcome([
                ("x-original-method", String(repeating: "A", count: method)),
                ("x-original-url", prefix + String(repeating: "p", count: url - prefix.utf8.count)),
            ])
        }
        let (method, url) = (OriginalRequest.maximumMethodBytes, OriginalRequest.maximumURLBytes)
        #expect(nginx(method, url).hasPrefix("AAA"))
        #expect(nginx(method + 1, url) == "\(Fault.malformed("x-original-method"))")
        #expect(nginx(method, url + 1) == "\(Fault.malformed("x-original-url"))")
    }

    @Test func `is described in the log without client data`() {
        for fault in [
            Fault.absent, .ambiguous, .missing("x-original-url"), .repeated("host"), .malformed("x-forwarded-host"),
        ] { #expect(!"\(fault)".isEmpty && !"\(fault)".contains("\n")) }
    }
}
