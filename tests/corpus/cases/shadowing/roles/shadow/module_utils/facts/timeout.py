WORD = "shadowed util"
