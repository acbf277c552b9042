import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// How the page shows the target's output: that it can be read, follows, and costs little.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct WebClientOutputTests {
        private let target: TargetServer
        private let gateway: GatewayProcess

        init() async throws {
            target = try await TargetServer.start()
            gateway = try await WebPage.gateway(target.port)
        }

        /// Of WCAG 2.1, computed from what the browser shows: each piece of text with its background, joined with its
        /// contrast.
        private static let contrasts = """
            (() => {
              const luminance = colour => {
                const [red, green, blue] = colour.match(/\\d+/g).map(part => part / 255)
                  .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
                return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
              };
              const page = getComputedStyle(document.body).backgroundColor;
              return [...document.querySelectorAll("#text span")].map(span => {
                const { color, backgroundColor: ground } = getComputedStyle(span);
                const [one, other] = [luminance(color), luminance(ground === "rgba(0, 0, 0, 0)" ? page : ground)];
                return `${span.textContent} ${Math.max(one, other) / Math.min(one, other)}`;
              }).join("|");
            })()
            """

        /// Eight colours and the default one on eight backgrounds, and what else games send: bright, bold, faint and
        /// inverse, 256 and all colours.
        @Test func `every pair of colours can be read in both schemes`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            let pairs = (Array(30...37) + [39]).flatMap { text in (40...47).map { "\(text);\($0)" } }
            let others = [
                "1;30", "1;31;41", "2", "2;34;44", "7", "7;33", "90;100", "97;107", "38;5;17", "38;5;226;48;5;231",
                "38;2;10;10;40", "48;2;128;128;128", "38;2;128;128;128;48;2;127;127;127", "30", "37",
            ]
            for looks in [pairs, others] {
                // Each is shown as itself, so that no piece goes on in the one before.
                let text = looks.map { "\u{1B}[0;\($0)m<\($0)>" }.joined() + "\u{1B}[0m\r\n"
                try await mud.send(Array(text.utf8))
                try await WebPage.shown("<\(looks[looks.count - 1])>", on: page)
            }
            for isDark in [false, true] {
                try await page.prefer(dark: isDark)
                let shown = try await page.text(Self.contrasts).split(separator: "|").map { $0.split(separator: " ") }
                #expect(shown.count == pairs.count + others.count && pairs.count == 72)
                for piece in shown { #expect(try #require(Double(piece[1])) >= 4.5, "\(piece), dark: \(isDark)") }
            }
            #expect(page.complaints == [])
        }

        @Test func `the log follows the text when a phone's keyboard opens, and stays where its reader has gone`()
            async throws
        {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            try await page.resize(width: 390, height: 844)
            func send(_ name: String) async throws {
                try await mud.send(Array((1...200).map { "\(name) \($0)\r\n" }.joined().utf8))
                try await WebPage.shown("\(name) 200", on: page)
            }
            try await send("before")
            for (height, name) in [(400, "with a keyboard"), (844, "without one")] {
                try await page.resize(width: 390, height: height)
                try await page.settle()
                #expect(try await page.number(WebPage.behind) < 2)
                try await send(name)
                try await page.settle()
                #expect(try await page.number(WebPage.behind) < 2)
            }
            _ = try await page.text("\(WebPage.log).scrollTop -= 500, 'done'")
            try await page.settle()
            let place = try await page.number("\(WebPage.log).scrollTop")
            try await send("later")
            try await page.settle()
            #expect(try await page.number("\(WebPage.log).scrollTop") == place)
            // Whoever sends something is at the end again.
            try await page.submit("look")
            try await page.settle()
            #expect(try await page.number(WebPage.behind) < 2)
            #expect(page.complaints == [])
        }

        /// Figures are measured by `scripts/try-clients page`; this holds what they come from.
        @Test func `a flood is laid out once a frame at most, and leaves the newest rows`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            _ = try await page.text(
                "frames = 0, (function count() { frames++; requestAnimationFrame(count); })(), 'counting'")
            let before = (frames: try await page.number("frames"), layouts: try await page.metric("LayoutCount"))
            let count = 20_000
            for start in stride(from: 0, to: count, by: 100) {
                let lines = (start..<start + 100).map {
                    "\u{1B}[3\($0 % 8)m\($0)\u{1B}[0m: a \u{1B}[1;32mgreen\u{1B}[0m word"
                }
                try await mud.send(Array((lines.joined(separator: "\r\n") + "\r\n").utf8))
                if start % 2_000 == 0 { try await page.pressKeys("k") }
            }
            try await mud.send("the end")
            try await WebPage.shown("the end", on: page)
            try await page.settle()
            let frames = try await page.number("frames") - before.frames
            let layouts = try await page.metric("LayoutCount") - before.layouts
            // Ten keys are pressed meanwhile, and each may lay out the input alone.
            #expect(layouts <= frames + 40, "\(layouts) layouts in \(frames) frames")
            let rows = "document.querySelectorAll('#text .row')"
            let left = try await page.number("\(rows).length")
            #expect(left > 4_900 && left <= 5_000)
            #expect(try await page.text("[...\(rows)].at(-2).textContent") == "\(count - 1): a green word")
            #expect(try await page.text("\(WebPage.line).value") == "kkkkkkkkkk")
            #expect(try await page.number(WebPage.behind) < 2)
            // Wherever a chunk of rows begins.
            for number in 1...3 {
                try await mud.send(String(repeating: "\r\nmore", count: 7) + " \(number)")
                try await WebPage.shown("more \(number)", on: page)
                try await page.settle()
                #expect(try await page.number("\(rows).length") <= 5_000)
            }
            #expect(page.complaints == [])
        }

        /// Each character looks different, in lines without end, and more of them than the page keeps.
        @Test func `what a hostile MUD sends leaves a bounded page`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            for part in 0..<20 {
                let text = (0..<5_000).map { "\u{1B}[38;2;\(part);\($0 / 256);\($0 % 256)mx" }.joined()
                try await mud.send(Array(text.utf8))
            }
            try await mud.send("\u{1B}[0m\r\nthe end")
            try await WebPage.shown("the end", on: page)
            #expect(try await page.number("document.querySelectorAll('#text span').length") <= 60_000)
            let longest = "Math.max(...[...document.querySelectorAll('#text .row')].map(row => row.textContent.length))"
            #expect(try await page.number(longest) <= 8_192)
            #expect(page.complaints == [])
        }
    }
}
