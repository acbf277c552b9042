package import Reactors

/// The web client, served at `/` where `ENABLE_WEB_CLIENT` is on: one page that is compiled into the program.
package enum WebClientPage {
    package static let policy = PagePolicy(
        scriptHash: "HuWZ9536yYtOZFl9YvCgtjMT2kFjmBHJBIr1JxvuxEE=",
        styleHash: "JJFIgZa/8AeoWvAK1x9SkuBMDtZR0CThlXyAbRpZ7pA=")

    package static let answer = policy.answer(PackageResources.index_html)
}
