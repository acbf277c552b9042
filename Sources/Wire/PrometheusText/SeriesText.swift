/// A series' name and labels as they are in the answer, written once when the series begins.
struct SeriesText: Hashable {
    let name: String
    /// `way="token",reason="expired"`, escaped; empty without labels.
    let labels: String

    /// What a line may have besides: a suffix, the label `le`, braces, a value, a line end.
    private static let more = 64

    init(name: String, _ dimensions: [MetricDimension]) {
        self.name = name
        labels = dimensions.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    }

    /// An upper limit for one line.
    var bytes: Int { name.utf8.count + labels.utf8.count + Self.more }

    /// Both formats: a backslash, a quote and a line feed are escaped.
    private static func escaped(_ value: String) -> String {
        var text = ""
        var bytes = 0
        for scalar in value.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= MetricRegistry.maximumValueBytes else { break }
            switch scalar {
            case "\\": text += #"\\"#
            case "\"": text += #"\""#
            case "\n": text += #"\n"#
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
