import Foundation

/// One page of a browser, operated like a user would, and inspected with JavaScript.
///
/// For one task at a time, like ``DevTools``.
package final class BrowserPage {
    let tools: DevTools
    /// Kept alive as long as the page.
    private let browser: Chromium

    init(_ tools: DevTools, of browser: Chromium) async throws {
        self.tools = tools
        self.browser = browser
        for domain in ["Page", "Runtime", "Log", "Network"] { try await tools.call("\(domain).enable") }
    }

    /// Opens an address and waits until the page's script has run.
    package func open(_ address: String) async throws {
        try await load { try await tools.call("Page.navigate", ["url": address]) }
    }

    package func reload() async throws {
        try await load { try await tools.call("Page.reload") }
    }

    private func load(_ start: () async throws -> Void) async throws {
        let mark = tools.events.count
        try await start()
        _ = try await tools.event("the page", from: mark) { $0.method == "Page.loadEventFired" }
    }

    // MARK: Looking

    /// The value of a JavaScript expression, or of its promise.
    private func value(_ expression: String) async throws -> Any? {
        let answer = try await tools.call(
            "Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true])
        if let exception = answer["exceptionDetails"] { throw EdgeTestError("\(expression): \(exception)") }
        return (answer["result"] as? [String: Any])?["value"]
    }

    package func text(_ expression: String) async throws -> String {
        let value = try await value(expression)
        guard let text = value as? String else { throw EdgeTestError("\(expression): \(String(describing: value))") }
        return text
    }

    package func number(_ expression: String) async throws -> Double {
        let value = try await value(expression)
        guard let number = value as? NSNumber else {
            throw EdgeTestError("\(expression): \(String(describing: value))")
        }
        return number.doubleValue
    }

    /// Waits for a condition: it is checked after each change of the document, and with each frame, since a page keeps
    /// more than its document.
    package func wait(until condition: String) async throws {
        let promise = """
            new Promise((resolve, reject) => {
              let waits = true;
              const end = () => { observer.disconnect(); waits = false; };
              const look = () => { if (waits && (\(condition))) { end(); resolve("seen"); } };
              const observer = new MutationObserver(look);
              observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
              const frame = () => { look(); if (waits) requestAnimationFrame(frame); };
              frame();
              setTimeout(() => { if (waits) { end(); reject(new Error("not in time")); } }, 60000);
            })
            """
        do { _ = try await value(promise) } catch {
            throw EdgeTestError("\(condition): \(error); page: \(try await text("document.body.innerText"))")
        }
    }

    /// Returns when what was changed has been laid out and drawn, and what follows from that, too.
    package func settle() async throws {
        let frames =
            "const frame = () => new Promise(requestAnimationFrame); await frame(); await frame(); await frame();"
        _ = try await value("(async () => { \(frames) await new Promise(done => setTimeout(done, 0)); })()")
    }

    /// What a screen reader sees, without what it ignores.
    package func accessibilityNodes() async throws -> [(role: String, name: String)] {
        let answer = try await tools.call("Accessibility.getFullAXTree")
        func text(_ node: [String: Any], _ field: String) -> String {
            (node[field] as? [String: Any])?["value"] as? String ?? ""
        }
        return (answer["nodes"] as? [[String: Any]] ?? []).filter { $0["ignored"] as? Bool != true }
            .map { (role: text($0, "role"), name: text($0, "name")) }
    }

    /// The page's errors so far: exceptions and violations of its policy.
    package var complaints: [String] {
        tools.events.filter { event in
            let entry = event.parameters["entry"] as? [String: Any]
            return event.method == "Runtime.exceptionThrown" || event.method == "Page.javascriptDialogOpening"
                || (entry?["source"] as? String == "security")
        }.map { "\($0.method) \($0.parameters)" }
    }

    /// The text messages that the page has sent over WebSockets.
    package var sentMessages: [String] {
        tools.events.compactMap(Self.sentMessage)
    }

    /// The first such message after the first `count` that contains `word`; waits for it if necessary.
    package func sentMessage(containing word: String, after count: Int = 0) async throws -> String {
        var seen = 0
        let event = try await tools.event("a message with \(word)", from: 0) { event in
            guard let message = Self.sentMessage(event) else { return false }
            seen += 1
            return seen > count && message.contains(word)
        }
        return Self.sentMessage(event) ?? ""
    }

    private static func sentMessage(_ event: DevTools.Event) -> String? {
        guard event.method == "Network.webSocketFrameSent" else { return nil }
        return (event.parameters["response"] as? [String: Any])?["payloadData"] as? String
    }

    // MARK: Doing

    package func type(_ text: String) async throws {
        try await tools.call("Input.insertText", ["text": text])
    }

    package func press(_ key: Key) async throws {
        var parameters: [String: Any] = ["key": key.rawValue, "code": key.rawValue, "windowsVirtualKeyCode": key.code]
        parameters["type"] = "keyDown"
        if key == .enter { parameters["text"] = "\r" }
        try await tools.call("Input.dispatchKeyEvent", parameters)
        parameters["type"] = "keyUp"
        try await tools.call("Input.dispatchKeyEvent", parameters)
    }

    package func submit(_ text: String) async throws {
        try await type(text)
        try await press(.enter)
    }

    package enum Key: String {
        case enter = "Enter"
        case up = "ArrowUp"
        case down = "ArrowDown"

        var code: Int {
            switch self {
            case .enter: 13
            case .up: 38
            case .down: 40
            }
        }
    }

    package func resize(width: Int, height: Int) async throws {
        try await tools.call(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    /// Makes the page see a preference for a colour scheme.
    package func prefer(dark isDark: Bool) async throws {
        let feature = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try await tools.call("Emulation.setEmulatedMedia", ["features": [feature]])
    }

    package func preferDark() async throws { try await prefer(dark: true) }

    /// Presses the keys of these characters, one after the other.
    package func pressKeys(_ characters: String) async throws {
        for character in characters.map(String.init) {
            let parameters = ["key": character, "text": character]
            try await tools.call("Input.dispatchKeyEvent", parameters.merging(["type": "keyDown"]) { $1 })
            try await tools.call("Input.dispatchKeyEvent", parameters.merging(["type": "keyUp"]) { $1 })
        }
    }

    /// One of the browser's own counts about the page, such as `LayoutCount`.
    package func metric(_ name: String) async throws -> Double {
        try await tools.call("Performance.enable")
        let metrics = try await tools.call("Performance.getMetrics")["metrics"] as? [[String: Any]]
        guard let metric = metrics?.first(where: { $0["name"] as? String == name }),
            let value = metric["value"] as? Double
        else { throw EdgeTestError("no metric \(name)") }
        return value
    }

    package func click(_ selector: String) async throws {
        _ = try await value("document.querySelector('\(selector)').click()")
    }

    /// Writes a screenshot as PNG.
    package func saveScreenshot(to path: String) async throws {
        let answer = try await tools.call("Page.captureScreenshot", ["format": "png"])
        guard let picture = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
            throw EdgeTestError("no picture")
        }
        try picture.write(to: URL(fileURLWithPath: path))
    }
}
