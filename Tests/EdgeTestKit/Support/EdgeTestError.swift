/// What went wrong while a test talked to the gateway, in words that a reader of the test log can use.
package struct EdgeTestError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
