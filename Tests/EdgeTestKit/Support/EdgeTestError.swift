/// A failure while a test talked to the gateway, described for the test log.
package struct EdgeTestError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
