/// An error in the operator's target settings. All are reported together at start; the gateway doesn't start with any
/// of them ignored.
package enum TargetFault: Error, Hashable, Sendable, CustomStringConvertible {
    case host
    case portMissing
    case port
    case routeForm
    case routeName
    case optionForm
    case unknownOption(String)
    case repeatedOption(String)
    case optionValue(String)
    /// Lists the names of all admission methods.
    case admitValue([String])
    case repeatedRoute(String)
    case tooManyRoutes
    case repeatedTarget(String)
    case tooManyTargets
    case allowlistEmpty
    case allowlistUnused
    case portsEmpty
    case portsUnused
    case portRange
    case arbitraryWithoutCredentials
    case routeOpenByPort(String)

    package var description: String {
        switch self {
        case .host: "the host is neither a host name nor an IP address (write IDNs as xn--…, IPv6 in brackets)"
        case .portMissing: "there is no port: write host:port"
        case .port: "the port isn't a number from 1 to 65535"
        case .routeForm: "it isn't name=host:port[,option…]; routes are separated by ;"
        case .routeName:
            "the name isn't 1 to \(Route.maximumNameBytes) of a-z, 0-9, - and _, beginning with a letter or digit"
        case .optionForm: "an option isn't name=value; several methods in admit= are joined by +"
        case .unknownOption(let name):
            "there is no option \(name): \(RouteOptions.names), and routes are separated by ;"
        case .repeatedOption(let name): "the option \(name) is repeated"
        case .optionValue(let name): "the option \(name) has no such value: \(RouteOptions.values(of: name))"
        case .admitValue(let methods):
            "the option admit has no such value: write any, or some of \(methods.joined(separator: ", ")), joined by +"
        case .repeatedRoute(let name): "the route \(name) is repeated"
        case .tooManyRoutes: "there are more than \(Route.maximumCount) routes"
        case .repeatedTarget(let target): "\(target) is repeated"
        case .tooManyTargets: "there are more than \(TargetList.maximumCount) targets"
        case .allowlistEmpty: "TARGET_MODE=allowlist needs TARGET_ALLOWLIST"
        case .allowlistUnused: "TARGET_ALLOWLIST means nothing with TARGET_MODE=fixed"
        case .portsEmpty: "TARGET_MODE=arbitrary needs TARGET_PORTS"
        case .portsUnused: "TARGET_PORTS means something with TARGET_MODE=arbitrary only"
        case .portRange: "it is neither a port nor a range of ports such as 4000-4999"
        case .arbitraryWithoutCredentials:
            "TARGET_MODE=arbitrary needs REQUIRE_APP_AUTH=true: it is an open relay otherwise"
        case .routeOpenByPort(let name):
            "the route \(name) allows only some admission methods (admit=), and its port is in TARGET_PORTS: with"
                + " TARGET_MODE=arbitrary other clients would reach it by another name of its host"
        }
    }
}

/// All faults of a setting, each with the number of its entry, from 1. `nil`: the fault concerns the whole setting.
package struct TargetFaults: Error, Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let number: Int?
        package let fault: TargetFault
    }

    /// Never empty.
    package let entries: [Entry]

    /// Reads every entry and collects all faults.
    static func reading<Text, Value>(
        _ texts: [Text], _ read: (Text) throws(TargetFault) -> Value
    ) -> (values: [Value], faults: [Entry]) {
        var values: [Value] = []
        var faults: [Entry] = []
        for (index, text) in texts.enumerated() {
            do throws(TargetFault) {
                values.append(try read(text))
            } catch {
                faults.append(Entry(number: index + 1, fault: error))
            }
        }
        return (values, faults)
    }
}
