/// Well-formed requests of many kinds.
enum Samples {
    static let upgrade =
        "GET /play?target=main&a=%2F HTTP/1.1\r\nHost: mud.example.org:8443\r\nConnection: keep-alive, Upgrade\r\n"
        + "Upgrade: websocket\r\nOrigin: https://mud.example.org\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    static let chunked =
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "5\r\nhello\r\n06;a=b;c=\"d\"\r\n world\r\n000\r\nX-Trailer: yes\r\nY:\r\n\r\n"

    static let valid = [
        upgrade, chunked,
        request(),
        "\r\n" + request(),
        request("HEAD /a/b;c=d?e=f/?g HTTP/1.1"),
        request("OPTIONS * HTTP/1.1"),
        request("CONNECT a.example:443 HTTP/1.1"),
        request("GET http://b.example:80/x?y HTTP/1.1"),
        request("get /%41~!$&'()*+,;=:@ HTTP/1.1"),
        request("M-SEARCH!#$%&'*+.^_`|~ / HTTP/1.1"),
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: [2001:db8::1]:1\r\nConnection: keep-alive\r\n\r\n",
        request("GET / HTTP/1.1", "X:", "Empty: \t ", "Tab:\ta\tb\t", "X-A: \u{e4}\u{20ac}", "Get: a", "X: again: b"),
        request("POST / HTTP/1.1", "Content-Length: 0"),
        request("POST / HTTP/1.1", "Content-Length: 0005", "Expect: 100-Continue") + "hello",
        request("GET / HTTP/1.1", "Content-Length: 3") + "abc" + request(),
        request("PUT / HTTP/1.1") + chunked + request("GET /c HTTP/1.1") + request("GET /d HTTP/1.1"),
    ]
}
