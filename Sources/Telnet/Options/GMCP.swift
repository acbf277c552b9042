/// The Generic Mud Communication Protocol: `Package.Message data`, the data JSON.
package enum GMCP {
    /// What most clients support, and the targets know.
    package static let usualPackages = [
        "Core 1", "Char 1", "Char.Vitals 1", "Char.Items 1", "Char.Skills 1", "Room 1", "Comm.Channel 1", "Group 1",
    ]
}
